import { countProblem, elementProblem } from '../../schema/element-problem.ts';
import { labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { emptyOf } from '../../schema/write-form.ts';
import { ElementInput } from './element-input.tsx';
import type { FieldProps } from './field-props.ts';
import { looseText, looseValue } from './loose-value.ts';
import { SchemaForm } from './schema-form.tsx';

/** One row per element; elements that are objects get a form of their own. */
export function ListField({ name, path, schema, value, onChange }: FieldProps) {
  const items = resolveSchema(schema.items ?? {});
  const values: readonly unknown[] = Array.isArray(value) ? value : [];
  const replace = (index: number, next: unknown): void =>
    onChange(values.map((old, at) => (at === index ? next : old)));
  const isObject = items.properties !== undefined;
  return (
    <fieldset class="stack-small">
      <legend>{labelOf(name)}</legend>
      <p class="hint">{schema.description}</p>
      <ul class="entries">
        {values.map((each, index) => (
          <li class="entry" key={index}>
            <div class="grow stack-small">
              {isObject ? (
                <fieldset class="stack-small">
                  <legend>{`${labelOf(name)} ${index + 1}`}</legend>
                  <SchemaForm
                    schema={items}
                    path={`${path}/${index}`}
                    value={(each ?? {}) as Record<string, unknown>}
                    onChange={(next) => replace(index, next)}
                  />
                </fieldset>
              ) : (
                <ElementInput
                  id={`${path}/${index}`}
                  label={`${labelOf(name)} ${index + 1}`}
                  text={items.type === 'string' ? String(each) : looseText(each)}
                  problem={elementProblem(values, index, items)}
                  onInput={(text) => replace(index, items.type === 'string' ? text : looseValue(text))}
                />
              )}
            </div>
            <button
              type="button"
              class="small"
              aria-label={`Remove ${labelOf(name)} ${index + 1}`}
              onClick={() => onChange(values.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <span class="problem" aria-live="polite">
        {countProblem(values.length, schema)}
      </span>
      <div>
        <button
          type="button"
          class="small"
          aria-label={`Add to ${labelOf(name)}`}
          onClick={() => onChange([...values, isObject ? {} : items.type === 'string' ? '' : (emptyOf(items) ?? '')])}
        >
          Add
        </button>
      </div>
    </fieldset>
  );
}
