import { useState } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { LoadedView } from '../loaded-view.tsx';
import type { FieldProps } from './field-props.ts';

interface EventType {
  readonly type: string;
  readonly description: string;
}

/** What a subscription reports: a choice from all event types, each with a sentence. */
export function EventTypesField({ path, value, onChange }: FieldProps) {
  const [filter, setFilter] = useState('');
  const loaded = useLoaded('event types', (abort) => get<{ event_types: readonly EventType[] }>('/event_types', abort));
  const chosen = new Set(
    (Array.isArray(value) ? (value as readonly { readonly type?: string }[]) : []).map(({ type }) => type ?? ''),
  );
  const choose = (type: string, isChosen: boolean): void => {
    const next = [...chosen].filter((each) => each !== type && each !== '');
    onChange((isChosen ? [...next, type] : next).map((each) => ({ type: each })));
  };
  const words = filter.toLowerCase().split(/\s+/);
  return (
    <fieldset class="stack-small">
      <legend>What to report</legend>
      <div class="field">
        <label for={`${path}-filter`}>Search event types</label>
        <input
          id={`${path}-filter`}
          type="search"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="hint" role="status">
          {chosen.size === 0 ? 'None is chosen yet.' : `${chosen.size} chosen`}
        </span>
      </div>
      <LoadedView loaded={loaded} what="The list of event types">
        {({ event_types: types }) => (
          <div class="stack-small long-choices">
            {types
              .filter(({ type, description }) =>
                words.every((word) => `${type} ${description}`.toLowerCase().includes(word)),
              )
              .map(({ type, description }) => (
                <div class="check" key={type}>
                  <input
                    type="checkbox"
                    id={`${path}/${type}`}
                    checked={chosen.has(type)}
                    aria-describedby={`${path}/${type}-hint`}
                    onChange={(event) => choose(type, event.currentTarget.checked)}
                  />
                  <label for={`${path}/${type}`}>
                    {description.replace(/\.$/, '')}
                    <span class="hint" id={`${path}/${type}-hint`}>
                      {' '}
                      <code>{type}</code>
                    </span>
                  </label>
                </div>
              ))}
          </div>
        )}
      </LoadedView>
    </fieldset>
  );
}
