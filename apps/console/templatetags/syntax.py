"""How the tags of `parts` are written, `{% tag row in rows _("Text") flag name=value %}`, and what they write."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.template import Context, TemplateSyntaxError
from django.template.base import FilterExpression, Parser, Token, kwarg_re
from django.utils.html import format_html_join
from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Loop:
    """`row in rows`, or `name, value in pairs`."""

    names: tuple[str, ...]
    source: FilterExpression

    def bound(self, value: Any) -> dict[str, Any]:
        """The variables of one turn."""
        if len(self.names) == 1:
            return {self.names[0]: value}
        return dict(zip(self.names, value, strict=True))


@dataclass(frozen=True)
class Said:
    """What is written in a tag after its name."""

    tag: str
    loop: Loop | None
    text: FilterExpression | None
    flags: frozenset[str]
    named: dict[str, FilterExpression]

    @classmethod
    def of(cls, parser: Parser, token: Token, *, flags: Collection[str] = ()) -> Self:
        """What one tag says.

        Raises:
            TemplateSyntaxError: it says something that tags of this kind have no place for.
        """
        tag, *bits = token.split_contents()
        loop = None
        if "in" in bits:
            place = bits.index("in")
            names = tuple(" ".join(bits[:place]).replace(",", " ").split())
            if not names or place + 1 == len(bits):
                raise TemplateSyntaxError(
                    f"{{% {tag} %}}: before and after `in` stands a name, as in `row in rows`"
                )
            loop, bits = Loop(names, parser.compile_filter(bits[place + 1])), bits[place + 2 :]
        named = {found[1]: found[2] for found in map(kwarg_re.match, bits) if found and found[1]}
        texts = [bit for bit in bits if bit not in flags and bit.partition("=")[0] not in named]
        if len(texts) > 1:
            raise TemplateSyntaxError(f"{{% {tag} %}}: {texts[1]} is too much, or no flag of it")
        return cls(
            tag,
            loop,
            parser.compile_filter(texts[0]) if texts else None,
            frozenset(bits) & frozenset(flags),
            {name: parser.compile_filter(value) for name, value in named.items()},
        )

    def values(self, context: Context) -> dict[str, Any]:
        """What its names say here."""
        return {name: value.resolve(context) for name, value in self.named.items()}

    def label(self, context: Context) -> Any:
        """What its text says here."""
        return self.text.resolve(context) if self.text else ""


def attributes(values: Mapping[str, Any]) -> SafeString:
    """HTML attributes, each after a blank: `data_test` is `data-test`, and what is None or False is left out."""
    given = {
        name.replace("_", "-"): value
        for name, value in values.items()
        if value is not None and value is not False
    }
    return format_html_join("", ' {}="{}"', given.items())


def classes(*names: Any) -> str | None:
    """The names that are some, as one attribute."""
    return " ".join(str(name) for name in names if name) or None


def around(context: Context, part: str, tag: str) -> Any:
    """What the part around a tag says to it.

    Raises:
        TemplateSyntaxError: there is no such part around it.
    """
    found = context.get(f"parts:{part}")
    if found is None:
        raise TemplateSyntaxError(f"{{% {tag} %}} stands outside of {{% {part} %}}")
    return found
