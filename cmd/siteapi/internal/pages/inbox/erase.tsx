// Erases the data that is stored about a person, or one lead.
import { useEffect, useRef, useState } from "preact/hooks";
import { EraseLeadsDocument, type EraseLeadsMutation } from "../generated/inbox";
import { save } from "./export";
import { dayText, exact, items } from "./format";
import { Icon, Skeleton, Trouble } from "./parts";
import { ask, type Failure } from "./service";
import { translate, words } from "./words";

/** A person, by an address, or only a lead. */
export type Erased = { email: string } | { lead: string };

interface Props {
  what: Erased;
  /** Called with whether the person was erased. */
  close: (finished: boolean) => void;
  /** Called right after the erasure, behind the receipt. */
  erased: () => void;
}

/** Erases all data about an address or a lead, after listing it. The only lead of a person is erased with the address. */
export function Erase({ what, close, erased }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [receipt, setReceipt] = useState<EraseLeadsMutation["eraseLeads"]>();
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(true);
  const erase = async (dryRun: boolean) => {
    setBusy(true);
    setFailure(undefined);
    try {
      setReceipt((await ask(EraseLeadsDocument, { ...what, dryRun })).eraseLeads);
      if (!dryRun) erased();
    } catch (e) {
      setFailure(e as Failure);
    }
    setBusy(false);
  };
  useEffect(() => {
    dialog.current?.showModal();
    void erase(true);
  }, []);
  const finished = receipt && !receipt.dryRun;
  const question = (receipt ? receipt.lead : "lead" in what) ? words.erase.questionLead : words.erase.question;
  const shown = receipt?.places.filter(({ found, erased, detail }) => found !== 0 || erased > 0 || detail);
  const saveReceipt = () =>
    save(new Blob([content.current?.innerText ?? ""]), `erasure-${dayText(new Date())}.txt`);
  return (
    <dialog ref={dialog} onClose={() => close(!!finished)} aria-labelledby="erase">
      <div class="stack" ref={content}>
      <h2 id="erase">{!finished ? question : receipt.complete ? words.erase.erased : words.erase.partly}</h2>
      <p>
        {finished ? words.erase.after : words.erase.before}{" "}
        <strong>{receipt?.lead ?? receipt?.email ?? Object.values(what)[0]}</strong>. {finished ? exact(receipt.finishedAt) : words.erase.final}
      </p>
      {busy && !receipt && <Skeleton rows={3} />}
      {failure && <Trouble failure={failure} retry={() => erase(!receipt || receipt.dryRun)} />}
      {receipt && shown && (
        <table class="receipt">
          <thead>
            <tr>
              <th>{words.erase.where}</th>
              <th>{finished ? words.erase.erased : words.erase.found}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((place) => (
              <tr key={`${place.place} ${place.unit}`}>
                <td>{words.erase.places[place.place]}</td>
                <td>
                  {items(finished ? place.erased : place.found, place.unit)}
                  {place.detail && <span class="muted small"> {translate(place.detail)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {receipt && receipt.remains.length > 0 && (
        <div class="small">
          <p>{words.erase.remains}</p>
          <ul>
            {receipt.remains.map((text) => (
              <li key={text}>{translate(text)}</li>
            ))}
          </ul>
        </div>
      )}
      </div>
      <div class="actions">
        {finished ? (
          <>
            <button type="button" onClick={saveReceipt}><Icon name="save" /> {words.save}</button>
            <button type="button" onClick={() => print()}>{words.erase.print}</button>
          </>
        ) : (
          <button type="button" class="primary danger" disabled={busy || !receipt} onClick={() => erase(false)}>
            {busy && receipt ? words.erase.busy : words.erase.confirm}
          </button>
        )}
        <button type="button" onClick={() => dialog.current?.close()}>{finished ? words.close : words.cancel}</button>
      </div>
    </dialog>
  );
}
