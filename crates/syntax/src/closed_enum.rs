//! Enumerations whose members are words.

/// Defines closed enumerations: their members, the words of these, and the way back from a word.
///
/// ```
/// sortie_syntax::closed_enum! {
///     /// How loud it is.
///     Volume {
///         /// Hardly.
///         Low = "low",
///         /// Very.
///         High = "high",
///     }
/// }
/// assert_eq!("high".parse(), Ok(Volume::High));
/// assert_eq!(Volume::WORDS, ["low", "high"]);
/// ```
#[macro_export]
macro_rules! closed_enum {
    ($($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident = $word:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$member_doc])* $member,)+ }

        impl $name {
            /// Every member, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$member,)+];
            /// The canonical words, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The canonical word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word,)+ }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = ();
            fn from_str(word: &str) -> ::std::result::Result<Self, ()> {
                match word { $($word => Ok(Self::$member),)+ _ => Err(()) }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result { f.pad(self.as_str()) }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                let word = <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(|()| ::serde::de::Error::unknown_variant(&word, Self::WORDS))
            }
        }
    )+};
}
