import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface PlainFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Null: it is fine. Shown once something was typed. */
  readonly problem?: string | null;
  readonly hint?: ComponentChildren;
  readonly placeholder?: string;
  readonly type?: 'text' | 'password';
  readonly isLong?: boolean;
  readonly isRequired?: boolean;
  /** The field is the first thing to fill in on its page. */
  readonly hasFocus?: boolean;
  readonly choices?: readonly string[];
  /** Beside the input, such as a button. */
  readonly beside?: ComponentChildren;
}

/** A text with its label, its help, and what is wrong with it while it is typed. */
export function PlainField(props: PlainFieldProps) {
  const { id, label, value, onChange, problem = null, hint, isLong = false, isRequired = false } = props;
  const [isLeft, setLeft] = useState(false);
  useEffect(() => {
    if (props.hasFocus === true) document.getElementById(id)?.focus();
  }, []);
  const isShown = problem !== null && (value !== '' || isLeft);
  const common = {
    id,
    value,
    required: isRequired,
    placeholder: props.placeholder,
    spellcheck: false,
    autocomplete: props.type === 'password' ? 'new-password' : 'off',
    'aria-invalid': isShown,
    'aria-describedby': `${id}-hint`,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
    onBlur: () => setLeft(true),
  } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...common} rows={4} />
      ) : (
        <span class="input-line">
          {props.type === 'password' ? (
            <input {...common} type="password" />
          ) : (
            <input {...common} type="text" {...(props.choices !== undefined && { list: `${id}-list` })} />
          )}
          {props.beside}
        </span>
      )}
      {props.choices !== undefined && (
        <datalist id={`${id}-list`}>
          {props.choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
      <span id={`${id}-hint`} class={isShown ? 'problem' : 'hint'} aria-live="polite">
        {isShown ? problem : hint}
      </span>
    </div>
  );
}
