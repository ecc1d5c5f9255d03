//! JSON as people read it: what fits into a line stands on one.

use serde_json::Value;

const WIDTH: usize = 118;

pub(crate) fn readable(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text.push('\n');
    text
}

fn write(value: &Value, indent: usize, before: usize, out: &mut String) {
    let line = one_line(value);
    let children: Vec<(Option<&String>, &Value)> = match value {
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (Some(key), value)).collect(),
        _ => Vec::new(),
    };
    if children.is_empty() || indent + before + line.chars().count() <= WIDTH {
        out.push_str(&line);
        return;
    }
    if children.iter().all(|(_, child)| child.is_number()) {
        return write_numbers(&children, indent, out);
    }
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    out.push(open);
    for (at, (key, child)) in children.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.extend(std::iter::repeat_n(' ', indent + 2));
        let key = key.map(|key| format!("{}: ", Value::from(key.as_str()))).unwrap_or_default();
        out.push_str(&key);
        write(child, indent + 2, key.len() + 1, out);
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(close);
}

/// Semantic tokens are five numbers each.
fn write_numbers(numbers: &[(Option<&String>, &Value)], indent: usize, out: &mut String) {
    out.push('[');
    for (at, (_, number)) in numbers.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if at % 5 == 0 {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + 2));
        } else {
            out.push(' ');
        }
        out.push_str(&number.to_string());
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(']');
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), one_line(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}
