import { useState } from 'preact/hooks';

interface ElementInputProps {
  readonly id?: string;
  readonly label: string;
  readonly text: string;
  readonly placeholder?: string;
  /** Null: it is fine. */
  readonly problem: string | null;
  readonly onInput: (text: string) => void;
}

/**
 * One element of a list or a map, with what is wrong while it is typed. An empty one is named when the focus leaves it.
 */
export function ElementInput({ id, label, text, placeholder, problem, onInput }: ElementInputProps) {
  const [isLeft, setLeft] = useState(false);
  const isWrong = problem !== null && (isLeft || text !== '');
  return (
    <>
      <input
        {...(id !== undefined && { id })}
        aria-label={label}
        aria-invalid={isWrong}
        {...(isWrong && { 'aria-description': problem })}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onBlur={() => setLeft(true)}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <span class="problem" aria-live="polite">
        {isWrong && problem}
      </span>
    </>
  );
}
