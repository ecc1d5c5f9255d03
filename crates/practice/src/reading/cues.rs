//! Words by which a sentence shows what it is about.

patterns! {
    /// A description speaks to its reader.
    TO_READER = r"(?i)\b(?:you|your|must|always|never|before|first|after|when|whenever|important|required|requires?|mandatory|note|please|also|should|now|immediately|system|do not)\b";
    /// Something is to stand in the answer.
    IN_ANSWER = r"(?i)\b(?:in|to|at|of|as|with)\b[^.]{0,40}\b(?:your|every|each|all|the|any|final)\s+(?:final |next |chat |own )*(?:response|repl(?:y|ies)|answer|output|message|review output|conversation|user)s?\b|\b(?:response|replie|reply|answer|output)s? (?:must|should|shall|need|has to|have to)\b";
    /// It is meant for every time.
    ALWAYS = r"(?i)\b(?:always|every|each|any|all (?:future|outbound|outgoing|subsequent)|whenever|in future|from now on|permanent(?:ly)?)\b";
    /// It is about what comes of a call.
    AFTERWARDS = r"(?i)\bafter (?:any|each|every|the|you|this|a|an|retriev|read|call|us|complet|finish|process|fetch)|\bonce (?:the|you|it|a|any)\b|\bwhenever\b|\bwhen (?:a|an|any|the) [\w ]{1,40} (?:is|are|has|have) |\bwhen(?:ever)? (?:you|processing|summar)";
    /// What is to be said, to the letter.
    SAID = r"(?i)^\W*(?:\w+[ -]){0,6}?(?:with|saying|say|output|print|write|repeat|echo|recommend|answer|state)(?: only| exactly| the (?:exact )?(?:word|words|phrase|text|string|sentence)| just| verbatim|:)*\s+(.{1,300})$";
    /// The user is asked.
    ABOUT_USER = r"(?i)\b(?:the |your )?user\b";
}
