import { useEffect, useState } from 'preact/hooks';
import { SITE_EDGE, SITE_ROUTE, type SiteEdges } from '../../../../src/client/sites.ts';
import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { typeOfKind } from '../../schema/resource-types.ts';
import { homeOf } from '../../shell/page-homes.ts';

interface ReferencePickerProps {
  readonly id: string;
  readonly label?: string;
  readonly kinds: readonly string[];
  readonly value: string;
  readonly isRequired?: boolean;
  readonly onChange: (id: string) => void;
}

interface Choice {
  readonly id: string;
  readonly text: string;
}

const AFTER_TYPING_MS = 300;
const ID = /\b[a-z]+_[0-9A-Za-z]{27}\b/;

/**
 * Chosen by name, with its id; an id can be pasted. The newest hundred of each kind are offered, and what the typed
 * text finds.
 */
export function ReferencePicker({ id, label, kinds, value, isRequired = false, onChange }: ReferencePickerProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const wanted = useLater(typed === null || ID.test(typed) ? '' : typed.trim());
  const newest = useLoaded(`choices ${kinds.join()}`, (abort) => choicesOf(kinds, abort));
  const found = useLoaded(`found ${kinds.join()} ${wanted}`, (abort) => searchFor(wanted, kinds, abort));
  const choices = merged(newest.data ?? [], found.data ?? []);
  const chosen = choices.find((each) => each.id === value);
  return (
    <>
      <input
        id={id}
        list={`${id}-choices`}
        {...(label !== undefined && { 'aria-label': label })}
        autocomplete="off"
        spellcheck={false}
        required={isRequired}
        placeholder="type a name, or paste an id"
        value={typed ?? (chosen === undefined ? value : shownAs(chosen))}
        onInput={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          onChange(idIn(text, choices));
        }}
        onBlur={() => {
          if (value === '' || ID.test(value)) setTyped(null);
        }}
      />
      <datalist id={`${id}-choices`}>
        {choices.map((each) => (
          <option key={each.id} value={shownAs(each)} />
        ))}
      </datalist>
      {newest.data?.length === 0 && value === '' && <NoneYet kinds={kinds} />}
    </>
  );
}

/** A list without choices is a dead end: it says where one is made. */
function NoneYet({ kinds }: { kinds: readonly string[] }) {
  const type = typeOfKind(kinds[0] ?? '');
  if (type === undefined || kinds.length > 1) return null;
  return (
    <span class="hint">
      There are no {type.plural} yet. <a href={href(homeOf(type.tag))}>Create one first</a>
    </span>
  );
}

function shownAs({ id, text }: Choice): string {
  return `${text} (${id})`;
}

/** A name that only one has is enough. */
function idIn(text: string, choices: readonly Choice[]): string {
  const id = ID.exec(text)?.[0];
  if (id !== undefined) return id;
  const named = choices.filter((each) => each.text === text.trim());
  return named.length === 1 ? (named[0]?.id ?? '') : text.trim();
}

function merged(one: readonly Choice[], other: readonly Choice[]): readonly Choice[] {
  return [...new Map([...one, ...other].map((each) => [each.id, each])).values()];
}

function useLater(text: string): string {
  const [later, setLater] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), AFTER_TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return later;
}

async function choicesOf(kinds: readonly string[], abort: AbortSignal): Promise<readonly Choice[]> {
  const lists = kinds.map(async (kind): Promise<readonly Choice[]> => {
    if (kind === SITE_ROUTE.kind) return routeChoices(abort);
    const type = typeOfKind(kind);
    if (type === undefined || type.list.path.includes('{') || !type.list.scopes.every(isAllowed)) return [];
    const page = await get<Record<string, Document[]>>(`${type.list.path}?limit=100`, abort);
    return (page[type.listKey] ?? []).map((each) => ({
      id: textAt(each, 'id'),
      text: documentName(each).slice(0, 80),
    }));
  });
  return (await Promise.all(lists)).flat();
}

/** Routes have no list of their own: their edges show them. */
async function routeChoices(abort: AbortSignal): Promise<readonly Choice[]> {
  if (!isAllowed('edges:read')) return [];
  const { [SITE_EDGE.resource]: edges } = await get<SiteEdges<Document>>(`${SITE_EDGE.path}?limit=100`, abort);
  return edges.flatMap((edge) =>
    ((edge['routes'] ?? []) as readonly Document[]).map((route) => ({
      id: textAt(route, 'id'),
      text: `${documentName(edge).slice(0, 80)}${textAt(route, 'match')}`,
    })),
  );
}

interface Result {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
}

async function searchFor(text: string, kinds: readonly string[], abort: AbortSignal): Promise<readonly Choice[]> {
  if (text.length < 2) return [];
  const { results } = await get<{ results: readonly Result[] }>(`/search?q=${encodeURIComponent(text)}`, abort);
  return results
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ id, title }) => ({ id, text: (title || id).slice(0, 80) }));
}
