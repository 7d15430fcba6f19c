import { useState } from 'preact/hooks';
import { countProblem, elementProblem } from '../../schema/element-problem.ts';
import { type JsonSchema, labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { ElementInput } from './element-input.tsx';
import type { FieldProps } from './field-props.ts';
import { looseText, looseValue } from './loose-value.ts';
import { ReferencePicker } from './reference-picker.tsx';
import { useNewEntry } from './use-new-entry.ts';

type Entry = readonly [key: string, value: unknown];

/** Names and values, such as labels, headers, claims or weights. A list is written with commas. */
export function MapField({ name, path, schema, value, onChange }: FieldProps) {
  const [list, onAdded] = useNewEntry();
  const items = resolveSchema(schema.additionalProperties as object);
  // The rows are kept beside the value: two rows may have the same name while one is typed.
  const [rows, setRows] = useState<readonly Entry[]>(() => Object.entries((value ?? {}) as Record<string, unknown>));
  const kinds = schema['x-reference']?.inKeys === true ? schema['x-reference'].kinds : null;
  const label = labelOf(name);
  const change = (next: readonly Entry[]): void => {
    setRows(next);
    onChange(Object.fromEntries(next.filter(([key]) => key !== '')));
  };
  const set = (index: number, entry: Entry): void => change(rows.map((old, at) => (at === index ? entry : old)));
  return (
    <fieldset class="stack-small">
      <legend>{label}</legend>
      <p class="hint">{schema.description}</p>
      <ul class="entries" ref={list}>
        {rows.map(([key, each], index) => (
          <li class="entry" key={index}>
            <div class="grow">
              {kinds === null ? (
                <ElementInput
                  label={`${label}: name ${index + 1}`}
                  placeholder="name"
                  text={key}
                  problem={nameProblem(rows, index)}
                  onInput={(text) => set(index, [text, each])}
                />
              ) : (
                <ReferencePicker
                  id={`${path}/${index}`}
                  label={`${label} ${index + 1}`}
                  kinds={kinds}
                  value={key}
                  onChange={(id) => set(index, [id, each])}
                />
              )}
            </div>
            <div class="grow">
              <ElementInput
                label={`${label}: value ${index + 1}`}
                placeholder={items.type === 'array' ? 'values, separated by commas' : 'value'}
                text={textOf(each)}
                problem={valueProblem(each, items)}
                onInput={(text) => set(index, [key, typedValue(text, items.type)])}
              />
            </div>
            <button
              type="button"
              class="small"
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => change(rows.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <div>
        <button
          type="button"
          class="small"
          aria-label={`Add to ${label}`}
          onClick={() => {
            onAdded();
            change([...rows, ['', items.type === 'integer' ? 1 : items.type === 'array' ? [] : '']]);
          }}
        >
          Add
        </button>
      </div>
    </fieldset>
  );
}

/** Of two rows with one name, the first would be lost without a word. */
function nameProblem(rows: readonly Entry[], index: number): string | null {
  const name = rows[index]?.[0] ?? '';
  if (name === '') return 'Enter a name, or remove the row.';
  return rows.findIndex(([other]) => other === name) < index ? 'Another row has this name.' : null;
}

function valueProblem(value: unknown, items: JsonSchema): string | null {
  // An empty text is a value, unless the schema forbids it.
  if (value === '' && items.type === 'string' && items.minLength === undefined) return null;
  if (!Array.isArray(value)) return elementProblem([value], 0, items);
  const wrong = value.map((_, index) => elementProblem(value, index, resolveSchema(items.items ?? {})));
  return wrong.find((each) => each !== null) ?? countProblem(value.length, items);
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map(looseText).join(', ') : looseText(value);
}

function typedValue(text: string, type: string | undefined): unknown {
  if (type === 'string') return text;
  if (type === 'array') return text.split(/,\s*/).map(looseValue);
  return looseValue(text);
}
