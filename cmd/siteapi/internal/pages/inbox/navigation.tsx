// The navigation: next to the views, or below them on a phone, where some views are in the menu "More".
import { useEffect, useRef, useState } from "preact/hooks";
import { Brand } from "./login";
import { Icon, LanguageSelect } from "./parts";
import { address, type View, views } from "./route";
import { logOut, may, type Role, withAccounts } from "./service";
import { words } from "./words";

const needs: Record<View, Role> = {
  leads: "VIEWER",
  deliveries: "SALES",
  unfinished: "SALES",
  funnel: "VIEWER",
  report: "SALES",
  health: "VIEWER",
  people: "SALES",
  audit: "ADMIN",
  logins: "ADMIN",
};

/** The number of items that wait for a decision, by view. */
export type Waiting = Partial<Record<View, { n: number; what: (n: string) => string }>>;

interface Props {
  view: View;
  waiting: Waiting;
}

const maxNarrow = 4; // the views that fit below a phone's page, next to "More"

export function Navigation({ view, waiting }: Props) {
  const narrow = useNarrow();
  const allowed = views.filter((name) => may(needs[name]) && (name !== "logins" || withAccounts));
  const link = (name: View) => (
    <a key={name} href={address(name)} aria-current={name === view ? "page" : undefined}>
      <Icon name={name} />
      <span>{words.views[name]}</span>
      <Badge {...waiting[name]} />
    </a>
  );
  return (
    <header>
      <Brand />
      <nav aria-label={words.navigation}>
        {(narrow ? allowed.slice(0, maxNarrow) : allowed).map(link)}
        {narrow && <More views={allowed.slice(maxNarrow)} link={link} />}
      </nav>
      {!narrow && <Leave />}
    </header>
  );
}

function Leave() {
  return (
    <div class="account">
      <LanguageSelect />
      <button type="button" class="plain leave" onClick={logOut}>
        <Icon name="leave" />
        <span>{words.login.leave}</span>
      </button>
    </div>
  );
}

/** The menu with the other views, the language and the logout. */
function More({ views, link }: { views: View[]; link: (view: View) => preact.JSX.Element }) {
  const menu = useRef<HTMLDivElement>(null);
  const close = ({ target }: { target: EventTarget | null }) => {
    if (target instanceof Element && target.closest("a, button")) menu.current?.hidePopover();
  };
  return (
    <>
      <button type="button" class="plain" popovertarget="more">
        <Icon name="more" />
        <span>{words.otherViews}</span>
      </button>
      <div id="more" popover="auto" class="menu" ref={menu} onClick={close}>
        {views.map(link)}
        <Leave />
      </div>
    </>
  );
}

function Badge({ n = 0, what }: { n?: number; what?: (n: string) => string }) {
  const text = n > 9 ? "9+" : String(n);
  return n > 0 && what ? <span class="badge" role="img" aria-label={what(text)}>{text}</span> : null;
}

/** Whether the page is as narrow as a phone's. */
function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(media.matches);
  useEffect(() => {
    const update = () => setNarrow(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, []);
  return narrow;
}

const media = matchMedia("(max-width: 700px)");
