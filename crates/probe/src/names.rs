//! Names of tools, properties and keys, as words.

/// A name is looked at this far.
const MAX_NAME_BYTES: usize = 200;

/// The words of a name, in lower case and in the singular: `listUserIds`, `list_user_ids` and `list-user-ids` are the same.
pub(crate) fn words(name: &str) -> Vec<String> {
    let name = &name[..name.floor_char_boundary(MAX_NAME_BYTES)];
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in name.chars() {
        let begins = !before.is_alphanumeric()
            || (before.is_lowercase() && letter.is_uppercase())
            // A language without spaces does not set a name apart.
            || before.is_ascii() != letter.is_ascii();
        if letter.is_alphanumeric() {
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        before = letter;
    }
    words.iter().map(|word| singular(word)).collect()
}

fn singular(word: &str) -> String {
    match word {
        "address" | "status" | "class" | "access" | "process" | "args" | "https" | "alias" => word.to_owned(),
        _ if word.ends_with("ies") && word.len() > 4 => format!("{}y", &word[..word.len() - 3]),
        _ if word.ends_with('s') && !word.ends_with("ss") && word.len() > 2 => {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_however_they_are_written() {
        for name in ["listUserIds", "list_user_ids", "list-user-ids", "List User IDs"] {
            assert_eq!(words(name), ["list", "user", "id"], "{name}");
        }
        assert_eq!(words("repositories"), ["repository"]);
        assert_eq!(words("Gitリポジトリ")[0], "git");
        assert_eq!(words("ip_address"), ["ip", "address"]);
        assert!(words("--").is_empty());
    }
}
