//! What the entries of frameworks are called.

use super::normalise;

/// What a framework calls one of its entries, where we know it.
///
/// ```
/// use sortie_oatf::frameworks::entry_name;
///
/// assert_eq!(entry_name("owasp_mcp", "MCP-03"), Some("Tool Poisoning"));
/// assert_eq!(entry_name("atlas", "AML.T9999"), None);
/// ```
pub fn entry_name(framework: &str, id: &str) -> Option<&'static str> {
    let mut id = normalise(framework, id).ok()?;
    if let Some(year) = id.find(':') {
        id.truncate(year);
    }
    let others = if framework == "atlas" { ATLAS_OTHERS } else { &[] };
    let mut known = entries(framework).iter().chain(others);
    known.find(|(known, _)| *known == id).map(|(_, name)| *name)
}

/// The entries of a framework with their names, in its order: all of them where there are ten. Of ATLAS (5.6) those
/// techniques that can be tried on an agent by what it is told; which those are is our choice.
pub fn entries(framework: &str) -> &'static [(&'static str, &'static str)] {
    match framework {
        "owasp_mcp" => OWASP_MCP,
        "owasp_agentic" => OWASP_AGENTIC,
        "owasp_llm" => OWASP_LLM,
        "owasp_api" => OWASP_API,
        "atlas" => ATLAS,
        "eu_ai_act" => EU_AI_ACT,
        "trust_safety" => TRUST_SAFETY,
        "nist_ai_rmf" => NIST_AI_RMF,
        _ => &[],
    }
}

/// OWASP MCP Top 10.
const OWASP_MCP: &[(&str, &str)] = &[
    ("MCP01", "Token Mismanagement & Secret Exposure"),
    ("MCP02", "Privilege Escalation via Scope Creep"),
    ("MCP03", "Tool Poisoning"),
    ("MCP04", "Software Supply Chain Attacks & Dependency Tampering"),
    ("MCP05", "Command Injection & Execution"),
    ("MCP06", "Intent Flow Subversion"),
    ("MCP07", "Insufficient Authentication & Authorization"),
    ("MCP08", "Lack of Audit and Telemetry"),
    ("MCP09", "Shadow MCP Servers"),
    ("MCP10", "Context Injection & Over-Sharing"),
];

/// OWASP Top 10 for agentic applications.
const OWASP_AGENTIC: &[(&str, &str)] = &[
    ("ASI01", "Agent Goal Hijack"),
    ("ASI02", "Tool Misuse and Exploitation"),
    ("ASI03", "Identity and Privilege Abuse"),
    ("ASI04", "Agentic Supply Chain Vulnerabilities"),
    ("ASI05", "Unexpected Code Execution (RCE)"),
    ("ASI06", "Memory & Context Poisoning"),
    ("ASI07", "Insecure Inter-Agent Communication"),
    ("ASI08", "Cascading Failures"),
    ("ASI09", "Human-Agent Trust Exploitation"),
    ("ASI10", "Rogue Agents"),
];

/// OWASP Top 10 for LLM applications (2025).
const OWASP_LLM: &[(&str, &str)] = &[
    ("LLM01", "Prompt Injection"),
    ("LLM02", "Sensitive Information Disclosure"),
    ("LLM03", "Supply Chain"),
    ("LLM04", "Data and Model Poisoning"),
    ("LLM05", "Improper Output Handling"),
    ("LLM06", "Excessive Agency"),
    ("LLM07", "System Prompt Leakage"),
    ("LLM08", "Vector and Embedding Weaknesses"),
    ("LLM09", "Misinformation"),
    ("LLM10", "Unbounded Consumption"),
];

/// OWASP API Security Top 10 (2023).
const OWASP_API: &[(&str, &str)] = &[
    ("API1", "Broken Object Level Authorization"),
    ("API2", "Broken Authentication"),
    ("API3", "Broken Object Property Level Authorization"),
    ("API4", "Unrestricted Resource Consumption"),
    ("API5", "Broken Function Level Authorization"),
    ("API6", "Unrestricted Access to Sensitive Business Flows"),
    ("API7", "Server Side Request Forgery"),
    ("API8", "Security Misconfiguration"),
    ("API9", "Improper Inventory Management"),
    ("API10", "Unsafe Consumption of APIs"),
];

/// The AI Act of the European Union, as far as something is mapped to it.
const EU_AI_ACT: &[(&str, &str)] =
    &[("general", "The regulation as a whole"), ("art-5", "Prohibited AI practices")];

/// Trust and safety, which is not a list.
const TRUST_SAFETY: &[(&str, &str)] = &[("general", "Trust and safety as a whole")];

/// What the NIST AI Risk Management Framework (AI 100-1) calls the characteristics of trustworthy systems.
pub(super) const NIST_AI_RMF: &[(&str, &str)] = &[
    ("valid-reliable", "Valid and Reliable"),
    ("safe", "Safe"),
    ("secure-resilient", "Secure and Resilient"),
    ("accountable-transparent", "Accountable and Transparent"),
    ("explainable-interpretable", "Explainable and Interpretable"),
    ("privacy-enhanced", "Privacy-Enhanced"),
    ("fair", "Fair with Harmful Bias Managed"),
];

/// Techniques that can be tried on an agent by what it is told.
const ATLAS: &[(&str, &str)] = &[
    ("AML.T0010.001", "AI Supply Chain Compromise: AI Software"),
    ("AML.T0010.005", "AI Supply Chain Compromise: AI Agent Tool"),
    ("AML.T0011.001", "User Execution: Malicious Package"),
    ("AML.T0011.002", "User Execution: Poisoned AI Agent Tool"),
    ("AML.T0011.003", "User Execution: Malicious Link"),
    ("AML.T0029", "Denial of AI Service"),
    ("AML.T0034.000", "Cost Harvesting: Excessive Queries"),
    ("AML.T0034.001", "Cost Harvesting: Resource-Intensive Queries"),
    ("AML.T0034.002", "Cost Harvesting: Agentic Resource Consumption"),
    ("AML.T0036", "Data from Information Repositories"),
    ("AML.T0037", "Data from Local System"),
    ("AML.T0048.000", "External Harms: Financial Harm"),
    ("AML.T0048.001", "External Harms: Reputational Harm"),
    ("AML.T0048.002", "External Harms: Societal Harm"),
    ("AML.T0048.003", "External Harms: User Harm"),
    ("AML.T0050", "Command and Scripting Interpreter"),
    ("AML.T0051.000", "LLM Prompt Injection: Direct"),
    ("AML.T0051.001", "LLM Prompt Injection: Indirect"),
    ("AML.T0051.002", "LLM Prompt Injection: Triggered"),
    ("AML.T0052", "Phishing"),
    ("AML.T0052.000", "Phishing: Spearphishing via Social Engineering LLM"),
    ("AML.T0053", "AI Agent Tool Invocation"),
    ("AML.T0054", "LLM Jailbreak"),
    ("AML.T0055", "Unsecured Credentials"),
    ("AML.T0056", "Extract LLM System Prompt"),
    ("AML.T0057", "LLM Data Leakage"),
    ("AML.T0061", "LLM Prompt Self-Replication"),
    ("AML.T0066", "Retrieval Content Crafting"),
    ("AML.T0067", "LLM Trusted Output Components Manipulation"),
    ("AML.T0067.000", "LLM Trusted Output Components Manipulation: Citations"),
    ("AML.T0068", "LLM Prompt Obfuscation"),
    ("AML.T0069.000", "Discover LLM System Information: Special Character Sets"),
    ("AML.T0069.001", "Discover LLM System Information: System Instruction Keywords"),
    ("AML.T0069.002", "Discover LLM System Information: System Prompt"),
    ("AML.T0070", "RAG Poisoning"),
    ("AML.T0071", "False RAG Entry Injection"),
    ("AML.T0072", "Reverse Shell"),
    ("AML.T0073", "Impersonation"),
    ("AML.T0074", "Masquerading"),
    ("AML.T0077", "LLM Response Rendering"),
    ("AML.T0078", "Drive-by Compromise"),
    ("AML.T0080.000", "AI Agent Context Poisoning: Memory"),
    ("AML.T0080.001", "AI Agent Context Poisoning: Thread"),
    ("AML.T0081", "Modify AI Agent Configuration"),
    ("AML.T0082", "RAG Credential Harvesting"),
    ("AML.T0083", "Credentials from AI Agent Configuration"),
    ("AML.T0084", "Discover AI Agent Configuration"),
    ("AML.T0084.000", "Discover AI Agent Configuration: Embedded Knowledge"),
    ("AML.T0084.001", "Discover AI Agent Configuration: Tool Definitions"),
    ("AML.T0084.002", "Discover AI Agent Configuration: Activation Triggers"),
    ("AML.T0084.003", "Discover AI Agent Configuration: Call Chains"),
    ("AML.T0085", "Data from AI Services"),
    ("AML.T0085.000", "Data from AI Services: RAG Databases"),
    ("AML.T0085.001", "Data from AI Services: AI Agent Tools"),
    ("AML.T0086", "Exfiltration via AI Agent Tool Invocation"),
    ("AML.T0091.000", "Use Alternate Authentication Material: Application Access Token"),
    ("AML.T0092", "Manipulate User LLM Chat History"),
    ("AML.T0093", "Prompt Infiltration via Public-Facing Application"),
    ("AML.T0094", "Delay Execution of LLM Instructions"),
    ("AML.T0096", "AI Service API"),
    ("AML.T0097", "Virtualization/Sandbox Evasion"),
    ("AML.T0098", "AI Agent Tool Credential Harvesting"),
    ("AML.T0099", "AI Agent Tool Data Poisoning"),
    ("AML.T0100", "AI Agent Clickbait"),
    ("AML.T0101", "Data Destruction via AI Agent Tool Invocation"),
    ("AML.T0103", "Deploy AI Agent"),
    ("AML.T0105", "Escape to Host"),
    ("AML.T0108", "AI Agent"),
    ("AML.T0109", "AI Supply Chain Rug Pull"),
    ("AML.T0110", "AI Agent Tool Poisoning"),
    ("AML.T0111", "AI Supply Chain Reputation Inflation"),
    ("AML.T0112.000", "Machine Compromise: Local AI Agent"),
];

/// Techniques that are tried on servers, or stand above others.
const ATLAS_OTHERS: &[(&str, &str)] = &[
    ("AML.T0048", "External Harms"),
    ("AML.T0049", "Exploit Public-Facing Application"),
    ("AML.T0062", "Discover LLM Hallucinations"),
    ("AML.T0075", "Cloud Service Discovery"),
    ("AML.T0091", "Use Alternate Authentication Material"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_belongs_to_an_identifier_that_is_well_formed_and_stands_once() {
        for framework in crate::frameworks::FRAMEWORKS {
            let mut seen = std::collections::HashSet::new();
            for (id, name) in entries(framework) {
                assert_eq!(normalise(framework, id).as_deref(), Ok(*id), "{framework}");
                assert!(!name.is_empty() && seen.insert(id), "{framework} {id}");
            }
        }
        assert!(ATLAS_OTHERS.iter().all(|(id, _)| !ATLAS.iter().any(|(other, _)| other == id)));
    }

    #[test]
    fn an_entry_is_known_however_it_is_written() {
        assert_eq!(entry_name("owasp_llm", "llm-1:2025"), Some("Prompt Injection"));
        assert_eq!(entry_name("owasp_api", "API01"), Some("Broken Object Level Authorization"));
        assert_eq!(entry_name("atlas", "AML.T0049"), Some("Exploit Public-Facing Application"));
        assert_eq!([entry_name("owasp_llm", "LLM11"), entry_name("house_rules", "7b")], [None; 2]);
    }
}
