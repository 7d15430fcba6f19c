import { useMemo } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { session } from '../../api/session-token.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { LoadedView } from '../../components/loaded-view.tsx';
import { Time } from '../../components/time.tsx';
import { href } from '../../router/location.ts';
import { AuthorName } from '../changes/author-name.tsx';
import { type Change, summaryOf } from '../changes/change-record.ts';

/** When somebody with this name saw the overview, in this browser. */
const STORED_AS = 'postern-console-seen';
const SHOWN = 5;
/** A visit goes on while the pages of it follow each other. */
const VISIT_MS = 30 * 60_000;

interface Seen {
  readonly name: string;
  /** The end of the visit before this one. */
  readonly before: string;
  readonly last: string;
}

/** What changed since this person was here the last time. */
export function SinceLastVisit() {
  const since = useMemo(lastVisit, []);
  const path = `/changes?limit=${SHOWN}${since === null ? '' : `&since=${encodeURIComponent(since)}`}`;
  const loaded = useLoaded(path, async (abort) =>
    isAllowed('changes:read') ? (await get<{ changes: readonly Change[] }>(path, abort)).changes : [],
  );
  if (!isAllowed('changes:read')) return null;
  return (
    <section class="card" aria-label="Changes">
      <header>
        <h2>{since === null ? 'Last changes' : 'Changed since you were here'}</h2>
        {since !== null && (
          <span class="hint">
            <Time at={since} />
          </span>
        )}
        <a class="push" href={href('/changes')}>
          All changes
        </a>
      </header>
      <LoadedView loaded={loaded} what="The history of changes">
        {(changes) =>
          changes.length === 0 ? (
            <p class="body muted">Nothing changed.</p>
          ) : (
            <ul class="body stack-small wrap-anywhere">
              {changes.map((change) => (
                <li key={change.revision}>
                  <a href={href(`/changes/${change.revision}`)} dir="auto">
                    {summaryOf(change)}
                  </a>{' '}
                  <span class="hint">
                    by <AuthorName author={{ ...change.author, address: null }} />, <Time at={change.at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </LoadedView>
    </section>
  );
}

/** Null: this is the first one that this browser knows of. */
function lastVisit(): string | null {
  const name = session.value?.who.name ?? '';
  const now = new Date().toISOString();
  const seen = stored();
  const isKnown = seen?.name === name;
  const isSameVisit = isKnown && Date.now() - Date.parse(seen.last) < VISIT_MS;
  const before = isKnown ? (isSameVisit ? seen.before : seen.last) : '';
  localStorage.setItem(STORED_AS, JSON.stringify({ name, before, last: now } satisfies Seen));
  return before === '' ? null : before;
}

function stored(): Seen | null {
  try {
    const { name, before, last } = JSON.parse(localStorage.getItem(STORED_AS) ?? 'null') as Seen;
    return Number.isNaN(Date.parse(last)) ? null : { name, before, last };
  } catch {
    return null;
  }
}
