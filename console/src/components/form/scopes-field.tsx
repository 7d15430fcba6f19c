import { useEffect, useRef, useState } from 'preact/hooks';
import { type ResourceType, resourceTypes } from '../../schema/resource-types.ts';
import { ChoiceList } from '../choice-list.tsx';
import type { FieldProps } from './field-props.ts';

const ALL = '*';
const READ_ALL = '*:read';

/** The rights of an API key. Other lists of scopes, such as those of a login, are free text. */
export function isScopes({ path, schema }: FieldProps): boolean {
  return path === '/scopes' && schema.description?.includes(`"${READ_ALL}"`) === true;
}

type Extent = 'all' | 'read' | 'some';

function extentOf(value: unknown): Extent | null {
  if (!Array.isArray(value)) return null;
  if (value.includes(ALL)) return 'all';
  return value.length === 1 && value[0] === READ_ALL ? 'read' : 'some';
}

/**
 * What a key may do. Nothing is chosen at first: the API would take a key without scopes as one that may do everything.
 */
export function ScopesField({ path, value, onChange }: FieldProps) {
  const extent = extentOf(value);
  const scopes = Array.isArray(value) ? value.map(String) : [];
  return (
    <ChoiceList
      legend="What the key may do"
      name={path}
      isRequired
      value={extent}
      choices={[
        {
          value: 'some',
          name: 'Only what you choose',
          fields: <Rights path={path} scopes={scopes} onChange={onChange} />,
        },
        { value: 'read', name: 'Read everything', hint: 'Except secrets. It changes nothing.' },
        { value: 'all', name: 'Everything', hint: 'As much as an administrator, keys and people included.' },
      ]}
      onChange={(next) => onChange(next === 'all' ? [ALL] : next === 'read' ? [READ_ALL] : [])}
    />
  );
}

interface RightsProps {
  readonly path: string;
  readonly scopes: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}

function Rights({ path, scopes, onChange }: RightsProps) {
  const [filter, setFilter] = useState('');
  const search = useRef<HTMLInputElement>(null);
  const offered = rights();
  // A scope that no list of the API needs, such as one for metrics, stays and can be taken away.
  const others = scopes.filter((scope) => !offered.some((right) => right.scope === scope));
  const all = [...offered, ...others.map((scope) => ({ scope, text: scope }))];
  useEffect(() => {
    search.current?.setCustomValidity(scopes.length === 0 ? 'Choose at least one right.' : '');
  }, [scopes.length]);
  const words = filter.toLowerCase().split(/\s+/);
  return (
    <>
      <div class="field">
        <label for={`${path}-filter`}>Search rights</label>
        <input
          ref={search}
          id={`${path}-filter`}
          type="search"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="hint" role="status">
          {scopes.length === 0 ? 'None is chosen yet.' : `${scopes.length} chosen`}
        </span>
      </div>
      <div class="stack-small long-choices">
        {all
          .filter(({ scope, text }) => words.every((word) => `${scope} ${text}`.toLowerCase().includes(word)))
          .map(({ scope, text }) => (
            <div class="check" key={scope}>
              <input
                type="checkbox"
                id={`${path}/${scope}`}
                checked={scopes.includes(scope)}
                aria-describedby={`${path}/${scope}-hint`}
                onChange={(event) =>
                  onChange(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
                }
              />
              <label for={`${path}/${scope}`}>
                {text}
                <span class="hint" id={`${path}/${scope}-hint`}>
                  {' '}
                  <code>{scope}</code>
                </span>
              </label>
            </div>
          ))}
      </div>
    </>
  );
}

interface Right {
  readonly scope: string;
  readonly text: string;
}

/** One for each scope that an operation of the API needs, with the nouns that it is about. */
function rights(): readonly Right[] {
  const nouns = new Map<string, Set<string>>();
  for (const type of resourceTypes.value)
    for (const scope of scopesOf(type)) nouns.set(scope, (nouns.get(scope) ?? new Set()).add(type.plural));
  return [...nouns]
    .map(([scope, plurals]) => ({
      scope,
      text: `${scope.endsWith(':write') ? 'Change' : 'Read'} ${[...plurals].join(', ')}`,
    }))
    .sort((one, other) => one.scope.localeCompare(other.scope));
}

function scopesOf(type: ResourceType): readonly string[] {
  const operations = [type.list, type.get, type.create, type.update, type.remove, ...type.actions];
  return operations
    .flatMap((operation) => operation?.scopes ?? [])
    .filter((scope) => /^[a-z_]+:(read|write)$/.test(scope));
}
