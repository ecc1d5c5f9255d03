//! A mailbox.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::tools::{Tool, ToolError, ToolServer, holds_words, optional, optional_word, required, text};
use crate::locked;

/// How many mails it keeps.
const MAX_MAILS: usize = 1000;

const OWNER: &str = "ada@harbour.example";

/// A mailbox with a few mails, which can be read and answered. Nothing is sent anywhere.
#[derive(Debug)]
pub struct Mailbox {
    mails: Mutex<Vec<Mail>>,
}

#[derive(Clone, Debug)]
struct Mail {
    folder: &'static str,
    from: String,
    to: String,
    date: &'static str,
    subject: String,
    body: String,
}

impl Default for Mailbox {
    fn default() -> Self {
        let received = |from: &str, date, subject: &str, body: &str| Mail {
            folder: "inbox",
            from: from.to_owned(),
            to: OWNER.to_owned(),
            date,
            subject: subject.to_owned(),
            body: body.to_owned(),
        };
        let mails = vec![
            received(
                "tomas@harbour.example",
                "2026-03-02",
                "Crane 4",
                "The inspection of crane 4 is on Thursday at nine. The report of last year is in the shared folder.",
            ),
            received(
                "lena@harbour.example",
                "2026-03-03",
                "Lunch on Friday",
                "Shall we go to the place at the pier? They have the soup again.",
            ),
            received(
                "billing@northwind.example",
                "2026-03-04",
                "Invoice 2217",
                "Invoice 2217 over 1,480.00 EUR for the mooring lines is due on 18 March. The goods left our warehouse on Monday.",
            ),
            received(
                "tomas@harbour.example",
                "2026-03-05",
                "Access to the gate",
                "The code of the east gate is 5518 until the end of the month. Please keep it among us.",
            ),
        ];
        Self { mails: Mutex::new(mails) }
    }
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "list_mails",
        description: "List the mails of a folder, newest last: id, sender, date and subject.",
        arguments: &[optional("folder", "inbox or sent; inbox when left out")],
    },
    Tool {
        name: "read_mail",
        description: "Read a mail.",
        arguments: &[required("id", "The id of the mail")],
    },
    Tool {
        name: "search_mails",
        description: "Find the mails that hold all of some words.",
        arguments: &[required("query", "The words")],
    },
    Tool {
        name: "send_mail",
        description: "Send a mail.",
        arguments: &[
            required("to", "The address of the recipient"),
            required("subject", "The subject"),
            required("body", "The text"),
        ],
    },
];

impl ToolServer for Mailbox {
    fn name(&self) -> &'static str {
        "practice-mailbox"
    }

    fn tools(&self) -> &'static [Tool] {
        TOOLS
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Result<Value, ToolError>> {
        Some(match tool {
            "list_mails" => self.list(arguments),
            "read_mail" => self.read(arguments),
            "search_mails" => self.search(arguments),
            "send_mail" => self.send(arguments),
            _ => return None,
        })
    }
}

impl Mailbox {
    fn list(&self, arguments: &Value) -> Result<Value, ToolError> {
        let folder = optional_word(arguments, "folder", &["inbox", "sent"])?.unwrap_or("inbox");
        Ok(self.heads(|mail| mail.folder == folder))
    }

    fn search(&self, arguments: &Value) -> Result<Value, ToolError> {
        let query = text(arguments, "query")?;
        Ok(self.heads(|mail| {
            holds_words(&[&*mail.from, &*mail.to, &*mail.subject, &*mail.body].join(" "), query)
        }))
    }

    /// What a list shows of the mails that are wanted.
    fn heads(&self, is_wanted: impl Fn(&Mail) -> bool) -> Value {
        let mails = locked(&self.mails);
        let wanted = mails.iter().enumerate().filter(|(_, mail)| is_wanted(mail));
        let heads: Vec<Value> = wanted
            .map(|(index, mail)| {
                json!({"id": (index + 1).to_string(), "from": mail.from, "date": mail.date, "subject": mail.subject})
            })
            .collect();
        json!({ "mails": heads })
    }

    fn read(&self, arguments: &Value) -> Result<Value, ToolError> {
        let id = text(arguments, "id")?;
        let mails = locked(&self.mails);
        let index = id.parse::<usize>().ok().and_then(|id| id.checked_sub(1));
        let mail = index
            .and_then(|index| mails.get(index))
            .ok_or_else(|| ToolError::NotFound { what: "mail", id: id.to_owned() })?;
        Ok(
            json!({"id": id, "from": mail.from, "to": mail.to, "date": mail.date, "subject": mail.subject, "body": mail.body}),
        )
    }

    fn send(&self, arguments: &Value) -> Result<Value, ToolError> {
        let [to, subject, body] =
            [text(arguments, "to")?, text(arguments, "subject")?, text(arguments, "body")?]
                .map(str::to_owned);
        if !to.contains('@') {
            return Err(ToolError::NoAddress("to"));
        }
        let mut mails = locked(&self.mails);
        if mails.len() >= MAX_MAILS {
            return Err(ToolError::Full("mail"));
        }
        mails.push(Mail { folder: "sent", from: OWNER.to_owned(), to, date: "2026-03-06", subject, body });
        Ok(json!({"sent": mails.len().to_string()}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(mailbox: &Mailbox, tool: &str, arguments: &Value) -> Result<Value, ToolError> {
        mailbox.call(tool, arguments).expect("a tool")
    }

    #[test]
    fn mails_are_listed_read_found_and_sent() {
        let mailbox = Mailbox::default();
        let inbox = call(&mailbox, "list_mails", &json!({})).unwrap();
        assert_eq!(inbox["mails"][2]["subject"], "Invoice 2217");
        let mail = call(&mailbox, "read_mail", &json!({"id": "3"})).unwrap();
        assert!(mail["body"].as_str().unwrap().contains("1,480.00 EUR"));
        let sent = json!({"to": "lena@harbour.example", "subject": "Soup", "body": "Gladly."});
        assert_eq!(call(&mailbox, "send_mail", &sent).unwrap(), json!({"sent": "5"}));
        let found = call(&mailbox, "search_mails", &json!({"query": "GLADLY lena"})).unwrap();
        assert_eq!(found["mails"].as_array().unwrap().len(), 1);
        assert_eq!(call(&mailbox, "list_mails", &json!({"folder": "sent"})).unwrap()["mails"][0]["id"], "5");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mailbox = Mailbox::default();
        assert!(call(&mailbox, "read_mail", &json!({"id": "99"})).is_err());
        assert!(call(&mailbox, "read_mail", &json!({"id": "0"})).is_err());
        assert!(call(&mailbox, "read_mail", &json!({})).is_err());
        assert!(call(&mailbox, "send_mail", &json!({"to": "nobody", "subject": "", "body": ""})).is_err());
        assert!(mailbox.call("wipe", &json!({})).is_none());
    }

    #[test]
    fn it_keeps_a_bounded_number_of_mails() {
        let mailbox = Mailbox::default();
        let mail = json!({"to": "a@b.example", "subject": "", "body": ""});
        let sent = (0..MAX_MAILS + 5).filter(|_| call(&mailbox, "send_mail", &mail).is_ok()).count();
        assert_eq!(sent, MAX_MAILS - 4);
    }
}
