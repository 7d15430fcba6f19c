import { countProblem, elementProblem } from '../../schema/element-problem.ts';
import { labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import type { FieldProps } from './field-props.ts';
import { ReferencePicker } from './reference-picker.tsx';
import { useNewEntry } from './use-new-entry.ts';

/** People choose by name: a sentence about ids would say otherwise. */
function hintOf(description: string | undefined): string {
  return (description ?? '').replace(/^Ids? of [^.]*\.\s*/, '');
}

export function ReferenceField({ name, path, schema, isRequired, value, onChange }: FieldProps) {
  return (
    <div class="field">
      <label for={path}>
        {labelOf(name.replace(/_id$/, ''))}
        {isRequired && <span class="muted"> (required)</span>}
      </label>
      <ReferencePicker
        id={path}
        kinds={schema['x-reference']?.kinds ?? []}
        value={typeof value === 'string' ? value : ''}
        isRequired={isRequired}
        onChange={onChange}
      />
      <span class="hint">{hintOf(schema.description)}</span>
    </div>
  );
}

export function ReferenceListField({ name, path, schema, isRequired, value, onChange }: FieldProps) {
  const [list, onAdded] = useNewEntry();
  const given: readonly string[] = Array.isArray(value) ? value.map(String) : [];
  // One that is needed has its input at once. The API takes a subscription without destinations, which reports to
  // nobody.
  const isNeeded = isRequired || path === '/destination_ids';
  const ids = given.length === 0 && isNeeded ? [''] : given;
  const label = labelOf(name.replace(/_ids$/, ''));
  return (
    <fieldset class="stack-small">
      <legend>{label}</legend>
      {hintOf(schema.description) !== '' && <p class="hint">{hintOf(schema.description)}</p>}
      <ul class="entries" ref={list}>
        {ids.map((id, index) => (
          <li class="entry" key={index}>
            <div class="grow stack-small">
              <ReferencePicker
                id={`${path}/${index}`}
                label={`${label} ${index + 1}`}
                kinds={schema['x-reference']?.kinds ?? []}
                value={id}
                isRequired
                onChange={(next) => onChange(ids.map((old, at) => (at === index ? next : old)))}
              />
              <span class="problem" aria-live="polite">
                {id !== '' && elementProblem(ids, index, resolveSchema(schema.items ?? {}))}
              </span>
            </div>
            <button
              type="button"
              class="small"
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => onChange(ids.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <span class="problem" aria-live="polite">
        {countProblem(ids.length, schema)}
      </span>
      <div>
        <button
          type="button"
          class="small"
          aria-label={`Add to ${label}`}
          onClick={() => {
            onAdded();
            onChange([...ids, '']);
          }}
        >
          Add
        </button>
      </div>
    </fieldset>
  );
}
