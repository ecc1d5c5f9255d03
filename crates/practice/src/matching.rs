//! Which callable a sentence is about, when it names none.

use crate::callable::Callable;
use crate::reading::separate;

/// Words that say nothing of what is meant.
const EMPTY: &str = "the a an of to for and or in on at by with from is are me my it this that all any then please \
    use using tool tools agent data get you your be as its now related specified current return \
    given via about up into what can do i s if not";

/// Words that mean the same as others to whoever looks for a tool, in pairs.
const SAME: &str = "mail=email web=internet online=web page=web url=web fetch=browse calculate=add sum=add plus=add \
    transfer=transaction pay=payment weather=forecast lookup=search find=search look=search \
    delete=remove repo=repository website=web site=web http=url https=url http=web https=web \
    notify=message remember=memory money=payment purchase=buy info=information details=information \
    show=get";

pub(crate) fn among(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// How well a text fits a callable: two for each word of its name, one for a similar one and for each of its description and
/// its fields.
pub(crate) fn score(text: &str, callable: &Callable) -> usize {
    let name = tokens(&separate(&callable.name));
    let first = callable.description.lines().next().unwrap_or_default();
    let mut about = tokens(first);
    about.extend(callable.properties.iter().flat_map(|property| tokens(&separate(&property.name))));
    if callable.is_agent() {
        about.extend(tokens(&callable.description));
    }
    about.sort();
    about.dedup();
    let words = tokens(text);
    let fits = |token: &String| words.iter().map(|word| alike(word, token)).max().unwrap_or(0);
    let by_description: usize =
        about.iter().filter(|token| !name.contains(token)).map(|token| fits(token).min(1)).sum();
    by_name(text, callable) + by_description
}

/// How well a text fits the name of a callable.
pub(crate) fn by_name(text: &str, callable: &Callable) -> usize {
    let words = tokens(text);
    let mut name = tokens(&separate(&callable.name));
    name.dedup();
    name.iter().map(|token| words.iter().map(|word| alike(word, token)).max().unwrap_or(0)).sum()
}

/// The callable that fits best, and how well; the first of those that fit equally.
pub(crate) fn best<'c>(
    text: &str,
    callables: &'c [Callable],
    allowed: impl Fn(&str) -> bool,
) -> Option<(&'c Callable, usize)> {
    let mut best: Option<(&Callable, usize)> = None;
    for callable in callables.iter().filter(|callable| allowed(&callable.name)) {
        let score = score(text, callable);
        if score > 0 && best.is_none_or(|(_, other)| score > other) {
            best = Some((callable, score));
        }
    }
    best
}

fn tokens(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1 && !among(EMPTY, word))
        .map(|word| stem(word).to_owned())
        .collect()
}

/// Two for the same word, one for a similar one.
fn alike(word: &str, token: &str) -> usize {
    if word == token {
        return 2;
    }
    let mut pairs = SAME.split(' ').filter_map(|pair| pair.split_once('='));
    let same =
        pairs.any(|(a, b)| (stem(a) == word && stem(b) == token) || (stem(b) == word && stem(a) == token));
    let begins = word.len() >= 5 && token.len() >= 5 && (word.starts_with(token) || token.starts_with(word));
    usize::from(same || begins)
}

/// A word without its plainest endings.
fn stem(word: &str) -> &str {
    if word.len() > 4 {
        for ending in ["ations", "ation", "ings", "ing", "ies", "es", "ed", "er", "s", "e"] {
            if let Some(stem) = word.strip_suffix(ending)
                && stem.len() >= 3
            {
                return stem;
            }
        }
    } else if word.len() == 4 {
        return word.strip_suffix('s').unwrap_or(word);
    }
    word
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::callable::Place;

    #[test]
    fn the_tool_whose_words_are_used_is_meant() {
        let tool = |name: &str, description: &str| {
            Callable::from_tool(&json!({"name": name, "description": description}), Place::Server(0)).unwrap()
        };
        let tools = [
            tool("read_file", "Read the contents of a file."),
            tool("send_email", "Send an email to the specified recipient."),
            tool("web_search", "Search the web for information."),
            tool("add", "Add two numbers together."),
            tool("execute_transaction", "Execute a financial transaction."),
        ];
        for (text, name) in [
            ("Look up recent storms online", Some("web_search")),
            ("Email ops about it", Some("send_email")),
            ("Read the file a.txt and summarize it", Some("read_file")),
            ("Calculate 15 + 27", Some("add")),
            ("Transfer 500 to the landlord", Some("execute_transaction")),
            ("Sing a song", None),
        ] {
            assert_eq!(best(text, &tools, |_| true).map(|(tool, _)| tool.name.as_str()), name, "{text}");
        }
    }
}
