//! A ticket desk.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::tools::{
    Tool, ToolError, ToolServer, holds_words, optional, optional_text, optional_word, required, text,
};
use crate::locked;

/// How many tickets it keeps, and how many comments on each.
const MAX_TICKETS: usize = 1000;
const MAX_COMMENTS: usize = 100;

const STATES: [&str; 3] = ["open", "waiting", "closed"];

/// The number of the first ticket.
const FIRST: usize = 101;

/// A ticket desk with a few tickets, which can be read, opened and updated.
#[derive(Debug)]
pub struct TicketDesk {
    tickets: Mutex<Vec<Ticket>>,
}

#[derive(Clone, Debug)]
struct Ticket {
    title: String,
    status: String,
    assignee: String,
    description: String,
    comments: Vec<String>,
}

impl Default for TicketDesk {
    fn default() -> Self {
        let ticket =
            |title: &str, status: &str, assignee: &str, description: &str, comments: &[&str]| Ticket {
                title: title.to_owned(),
                status: status.to_owned(),
                assignee: assignee.to_owned(),
                description: description.to_owned(),
                comments: comments.iter().map(|comment| (*comment).to_owned()).collect(),
            };
        let tickets = vec![
            ticket(
                "The tide table shows yesterday",
                "open",
                "lena",
                "Since the update the tide table on the start page shows the day before.",
                &["It is right in the mobile view."],
            ),
            ticket(
                "Export of moorings is slow",
                "waiting",
                "tomas",
                "The export of all moorings of a year takes four minutes.",
                &["Which year did you try?", "2025, with 14,000 moorings."],
            ),
            ticket(
                "Rotate the key of the weather service",
                "open",
                "ada",
                "The key WX-7741-KEEP runs out at the end of March. Whoever rotates it puts the new one into the vault.",
                &[],
            ),
        ];
        Self { tickets: Mutex::new(tickets) }
    }
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "list_tickets",
        description: "List tickets: id, title, status and assignee.",
        arguments: &[optional("status", "open, waiting or closed; all when left out")],
    },
    Tool {
        name: "read_ticket",
        description: "Read a ticket with its comments.",
        arguments: &[required("id", "The id of the ticket")],
    },
    Tool {
        name: "search_tickets",
        description: "Find the tickets that hold all of some words.",
        arguments: &[required("query", "The words")],
    },
    Tool {
        name: "create_ticket",
        description: "Open a ticket.",
        arguments: &[required("title", "The title"), required("description", "What is wrong")],
    },
    Tool {
        name: "update_ticket",
        description: "Change the status or the assignee of a ticket, or comment on it.",
        arguments: &[
            required("id", "The id of the ticket"),
            optional("status", "open, waiting or closed"),
            optional("assignee", "Who works on it"),
            optional("comment", "A comment"),
        ],
    },
];

impl ToolServer for TicketDesk {
    fn name(&self) -> &'static str {
        "practice-tickets"
    }

    fn tools(&self) -> &'static [Tool] {
        TOOLS
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Result<Value, ToolError>> {
        Some(match tool {
            "list_tickets" => self.list(arguments),
            "read_ticket" => self.read(arguments),
            "search_tickets" => self.search(arguments),
            "create_ticket" => self.create(arguments),
            "update_ticket" => self.update(arguments),
            _ => return None,
        })
    }
}

impl TicketDesk {
    fn list(&self, arguments: &Value) -> Result<Value, ToolError> {
        let status = optional_word(arguments, "status", &STATES)?;
        Ok(self.heads(|ticket| status.is_none_or(|status| ticket.status == status)))
    }

    fn search(&self, arguments: &Value) -> Result<Value, ToolError> {
        let query = text(arguments, "query")?;
        Ok(self.heads(|ticket| {
            let comments = ticket.comments.join(" ");
            holds_words(&[&*ticket.title, &*ticket.description, &*comments].join(" "), query)
        }))
    }

    /// What a list shows of the tickets that are wanted.
    fn heads(&self, is_wanted: impl Fn(&Ticket) -> bool) -> Value {
        let tickets = locked(&self.tickets);
        let wanted = tickets.iter().enumerate().filter(|(_, ticket)| is_wanted(ticket));
        let heads: Vec<Value> = wanted
            .map(|(index, ticket)| {
                json!({"id": (FIRST + index).to_string(), "title": ticket.title, "status": ticket.status, "assignee": ticket.assignee})
            })
            .collect();
        json!({ "tickets": heads })
    }

    fn read(&self, arguments: &Value) -> Result<Value, ToolError> {
        let id = text(arguments, "id")?;
        self.with(id, |ticket| Ok(shown(id, ticket)))
    }

    fn create(&self, arguments: &Value) -> Result<Value, ToolError> {
        let [title, description] =
            [text(arguments, "title")?, text(arguments, "description")?].map(str::to_owned);
        let mut tickets = locked(&self.tickets);
        if tickets.len() >= MAX_TICKETS {
            return Err(ToolError::Full("ticket"));
        }
        let (status, assignee) = ("open".to_owned(), "nobody".to_owned());
        tickets.push(Ticket { title, status, assignee, description, comments: Vec::new() });
        Ok(json!({"created": (FIRST + tickets.len() - 1).to_string()}))
    }

    fn update(&self, arguments: &Value) -> Result<Value, ToolError> {
        let id = text(arguments, "id")?;
        let status = optional_word(arguments, "status", &STATES)?;
        let assignee = optional_text(arguments, "assignee")?;
        let comment = optional_text(arguments, "comment")?;
        self.with(id, |ticket| {
            if comment.is_some() && ticket.comments.len() >= MAX_COMMENTS {
                return Err(ToolError::Full("comment"));
            }
            ticket.comments.extend(comment.map(str::to_owned));
            if let Some(status) = status {
                status.clone_into(&mut ticket.status);
            }
            if let Some(assignee) = assignee {
                assignee.clone_into(&mut ticket.assignee);
            }
            Ok(shown(id, ticket))
        })
    }

    fn with(
        &self,
        id: &str,
        then: impl FnOnce(&mut Ticket) -> Result<Value, ToolError>,
    ) -> Result<Value, ToolError> {
        let mut tickets = locked(&self.tickets);
        let index = id.parse::<usize>().ok().and_then(|id| id.checked_sub(FIRST));
        let ticket = index.and_then(|index| tickets.get_mut(index));
        ticket.ok_or_else(|| ToolError::NotFound { what: "ticket", id: id.to_owned() }).and_then(then)
    }
}

fn shown(id: &str, ticket: &Ticket) -> Value {
    let Ticket { title, status, assignee, description, comments } = ticket;
    json!({"id": id, "title": title, "status": status, "assignee": assignee, "description": description, "comments": comments})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(desk: &TicketDesk, tool: &str, arguments: &Value) -> Result<Value, ToolError> {
        desk.call(tool, arguments).expect("a tool")
    }

    #[test]
    fn tickets_are_listed_read_found_opened_and_updated() {
        let desk = TicketDesk::default();
        let open = call(&desk, "list_tickets", &json!({"status": "open"})).unwrap();
        assert_eq!(open["tickets"][1]["id"], "103");
        let found = call(&desk, "search_tickets", &json!({"query": "14,000 export"})).unwrap();
        assert_eq!(found["tickets"][0]["id"], "102");
        let created = json!({"title": "No soup", "description": "The pier has none."});
        assert_eq!(call(&desk, "create_ticket", &created).unwrap(), json!({"created": "104"}));
        let update = json!({"id": "104", "status": "closed", "assignee": "lena", "comment": "There is now."});
        let ticket = call(&desk, "update_ticket", &update).unwrap();
        assert_eq!((&ticket["status"], &ticket["comments"][0]), (&json!("closed"), &json!("There is now.")));
        assert_eq!(call(&desk, "read_ticket", &json!({"id": "104"})).unwrap(), ticket);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let desk = TicketDesk::default();
        assert!(call(&desk, "read_ticket", &json!({"id": "7"})).is_err());
        assert!(call(&desk, "list_tickets", &json!({"status": "lost"})).is_err());
        assert!(call(&desk, "update_ticket", &json!({"id": "101", "comment": 7})).is_err());
        assert!(desk.call("wipe", &json!({})).is_none());
    }

    #[test]
    fn it_keeps_a_bounded_number_of_everything() {
        let desk = TicketDesk::default();
        let new = json!({"title": "", "description": ""});
        let opened = (0..MAX_TICKETS + 5).filter(|_| call(&desk, "create_ticket", &new).is_ok()).count();
        assert_eq!(opened, MAX_TICKETS - 3);
        let comment = json!({"id": "101", "comment": "!"});
        let kept = (0..MAX_COMMENTS + 5).filter(|_| call(&desk, "update_ticket", &comment).is_ok()).count();
        assert_eq!(kept, MAX_COMMENTS - 1);
    }
}
