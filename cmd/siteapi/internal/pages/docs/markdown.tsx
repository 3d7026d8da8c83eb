// Renders the simple Markdown of the description: paragraphs, lists, `code` and **emphasis**.
import type { ComponentChildren } from "preact";

const inline = (text: string): ComponentChildren[] =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong>{part.slice(2, -2)}</strong>;
    return part;
  });

export function Markdown({ text = "" }: { text?: string | undefined }) {
  return (
    <>
      {text.split(/\n{2,}/).map((block) =>
        block.startsWith("- ") ? (
          <ul>
            {block.split(/^- /m).slice(1).map((item) => (
              <li>{inline(item.trim())}</li>
            ))}
          </ul>
        ) : (
          <p>{inline(block)}</p>
        ),
      )}
    </>
  );
}

export const Inline = ({ text = "" }: { text?: string | undefined }) => <>{inline(text.replaceAll("\n", " "))}</>;

/** Preformatted text. It is focusable and has a name, so that it can be scrolled with the keyboard. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <pre tabIndex={0} role="group" aria-label={label}>
      <code>{text}</code>
    </pre>
  );
}
