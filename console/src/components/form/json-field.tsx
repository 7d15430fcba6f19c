import { useState } from 'preact/hooks';
import { labelOf } from '../../schema/json-schema.ts';
import type { FieldProps } from './field-props.ts';

/** For values whose schema says too little for a better input. */
export function JsonField({ name, path, schema, value, onChange }: FieldProps) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState('');
  const read = (next: string): void => {
    setText(next);
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next));
      setProblem('');
    } catch (error) {
      setProblem(`This is not JSON yet: ${error instanceof Error ? error.message : ''}`);
    }
  };
  return (
    <div class="field">
      <label for={path}>{labelOf(name)} (JSON)</label>
      <textarea
        id={path}
        class="mono"
        rows={4}
        value={text}
        aria-invalid={problem !== ''}
        aria-describedby={`${path}-hint`}
        onInput={(event) => read(event.currentTarget.value)}
      />
      {problem !== '' && <span class="problem">{problem}</span>}
      <span class="hint" id={`${path}-hint`}>
        {schema.description}
      </span>
    </div>
  );
}
