// A question before an action that can't be undone, in a dialog.
import { useEffect, useRef, useState } from "preact/hooks";
import { words } from "./words";

export interface Question {
  /** The action, and how many leads it changes. */
  title: string;
  /** The consequences. */
  text: string;
  /** The label of the button that confirms it. */
  confirm: string;
  /** The label of a reason, if the action needs one. */
  reason?: string;
}

type Asked = Question & { answered: (reason: string | undefined) => void };

let show: (asked: Asked | undefined) => void = () => {};

/** Asks the user. Returns the reason, or any text if there is none; undefined if the user declines. */
export const confirmed = (question: Question) =>
  new Promise<string | undefined>((answered) => show({ ...question, answered }));

export function Questions() {
  const [asked, setAsked] = useState<Asked>();
  const dialog = useRef<HTMLDialogElement>(null);
  show = setAsked;
  useEffect(() => dialog.current?.showModal(), [asked]);
  if (!asked) return null;

  const close = () => {
    asked.answered(dialog.current?.returnValue || undefined);
    setAsked(undefined);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget as HTMLFormElement).get("reason") ?? "confirmed";
    dialog.current?.close(String(reason).trim());
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="question">
      <form class="stack" onSubmit={submit}>
        <h2 id="question">{asked.title}</h2>
        <p>{asked.text}</p>
        {asked.reason && (
          <input name="reason" required pattern=".*\S.*" maxLength={500} autofocus aria-label={asked.reason} placeholder={asked.reason} />
        )}
        <div class="actions">
          <button type="submit" class="primary">{asked.confirm}</button>
          <button type="button" onClick={() => dialog.current?.close()}>{words.cancel}</button>
        </div>
      </form>
    </dialog>
  );
}
