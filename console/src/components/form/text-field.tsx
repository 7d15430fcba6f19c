import { useContext, useState } from 'preact/hooks';
import { textOf } from '../../format/text.ts';
import { type JsonSchema, labelOf } from '../../schema/json-schema.ts';
import { textProblem } from '../../schema/text-problem.ts';
import type { FieldProps } from './field-props.ts';
import { IsNew } from './is-new.ts';
import { PasswordInput } from './password-input.tsx';
import { TimeInput } from './time-input.tsx';

const MASK = '••••••••';
/** What a description says to those who write requests. */
const FOR_PROGRAMS = / ?(Default: ""|"" in a PATCH removes it)\.?/;

/**
 * Text, numbers, times and secrets, with what is wrong while it is typed. A secret stays as it is while its input is
 * empty.
 */
export function TextField({ name, path, schema, isRequired, value, onChange }: FieldProps) {
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  const isSecret = schema['x-secret'] !== undefined;
  const isNew = useContext(IsNew);
  const [isLeft, setLeft] = useState(false);
  const checked = name === 'email' ? { ...schema, format: 'email' } : schema;
  const problem = isSecret ? null : textProblem(value, checked, isRequired);
  const isWrong = problem !== null && (isLeft || textOf(value) !== '');
  const shown = isNumber ? (value ?? schema.default ?? '') : (value ?? '');
  const common = {
    id: path,
    required: isRequired,
    'aria-describedby': `${path}-hint ${path}-problem`,
    'aria-invalid': isWrong,
    spellcheck: false,
    onBlur: () => setLeft(true),
    onInput: (event: { currentTarget: { value: string } }) => {
      const text = event.currentTarget.value;
      if (!isNumber) onChange(text);
      else onChange(text === '' ? undefined : Number(text));
    },
  } as const;
  return (
    <div class="field">
      <label for={path}>
        {labelOf(name)}
        {isRequired && <span class="muted"> (required)</span>}
      </label>
      {schema.format === 'date-time' ? (
        <TimeInput
          id={path}
          value={textOf(value)}
          isRequired={isRequired}
          describedBy={`${path}-hint`}
          problem={pastProblem(name, value)}
          onChange={(time) => onChange(time === '' ? undefined : time)}
        />
      ) : isLong(name, schema.maxLength) ? (
        <textarea {...common} class={name.endsWith('_pem') ? 'mono' : ''} rows={4} value={textOf(shown)} />
      ) : (
        <OneLine {...common} schema={schema} value={textOf(shown)} placeholder={isNew ? '' : MASK} />
      )}
      <span class="problem" id={`${path}-problem`} aria-live="polite">
        {isWrong && problem}
      </span>
      <span class="hint" id={`${path}-hint`}>
        {schema.description?.replace(FOR_PROGRAMS, '')}
        {isSecret && !isNew && ' Leave it as it is to keep the stored value.'}
      </span>
    </div>
  );
}

/** Something that has expired from the start is of no use to anybody. */
function pastProblem(name: string, value: unknown): string | null {
  return name === 'expires_at' && Date.parse(textOf(value)) <= Date.now() ? 'Choose a time in the future.' : null;
}

function isLong(name: string, maxLength = 0): boolean {
  return maxLength > 4_096 || name.endsWith('_pem') || name === 'metadata' || name === 'body';
}

interface OneLineProps {
  readonly id: string;
  readonly required: boolean;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid': boolean;
  readonly onBlur: () => void;
  readonly spellcheck: boolean;
  readonly schema: JsonSchema;
  readonly value: string;
  readonly placeholder: string;
  readonly onInput: (event: { currentTarget: { value: string } }) => void;
}

function OneLine({ schema, placeholder, ...props }: OneLineProps) {
  if (schema['x-secret'] === 'hashed') return <PasswordInput {...props} placeholder={placeholder} />;
  if (schema['x-secret'] !== undefined) {
    return <input {...props} type="password" autocomplete="new-password" placeholder={placeholder} />;
  }
  if (schema.type === 'string') return <input {...props} type="text" autocomplete="off" />;
  return (
    <input
      {...props}
      type="number"
      min={schema.minimum}
      max={schema.maximum}
      step={schema.type === 'integer' ? 1 : 'any'}
    />
  );
}
