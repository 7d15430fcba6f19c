import type { JsonSchema } from '../schema/json-schema.ts';
import { Chip } from './chip.tsx';
import { RefLink } from './ref-link.tsx';
import { Time } from './time.tsx';

const LONG_TEXT = 300;

/** Any value of a document, as text: nothing of it is ever markup. */
export function ValueView({ value, schema = {} }: { value: unknown; schema?: JsonSchema }) {
  if (value === null || value === undefined || value === '') return <span class="muted">–</span>;
  if (typeof value === 'boolean') return <Chip tone={value ? 'ok' : 'plain'}>{value ? 'yes' : 'no'}</Chip>;
  if (typeof value === 'number') return <>{value}</>;
  if (typeof value === 'string') {
    if (schema.format === 'date-time') return <Time at={value} />;
    return value.length > LONG_TEXT || value.includes('\n') ? <pre>{value}</pre> : <span dir="auto">{value}</span>;
  }
  if (Array.isArray(value)) return <ListView values={value} items={schema.items ?? {}} />;
  if (isRef(value)) return <RefLink reference={value} />;
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.length === 0) return <span class="muted">none</span>;
  if (entries.every(([, each]) => typeof each !== 'object')) {
    return (
      <span class="line">
        {entries.map(([name, each]) => (
          <Chip key={name} title={`${name}: ${String(each)}`}>
            {name}: {String(each)}
          </Chip>
        ))}
      </span>
    );
  }
  return <pre>{JSON.stringify(value, null, 2)}</pre>;
}

function ListView({ values, items }: { values: readonly unknown[]; items: JsonSchema }) {
  if (values.length === 0) return <span class="muted">none</span>;
  if (values.some((each) => typeof each === 'object' && !isRef(each)))
    return <pre>{JSON.stringify(values, null, 2)}</pre>;
  return (
    <ul class="line">
      {values.map((each, index) => (
        <li key={index}>
          {isRef(each) ? (
            <RefLink reference={each} />
          ) : (
            <Chip>
              <ValueView value={each} schema={items} />
            </Chip>
          )}
        </li>
      ))}
    </ul>
  );
}

function isRef(value: unknown): value is { id: string; uri: string } {
  return (
    typeof value === 'object' && value !== null && 'id' in value && 'uri' in value && Object.keys(value).length === 2
  );
}
