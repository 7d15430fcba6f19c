import { useState } from 'preact/hooks';

const GENERATED_BYTES = 18;

export interface PasswordInputProps {
  readonly id: string;
  readonly required: boolean;
  readonly value: string;
  readonly placeholder: string;
  readonly 'aria-describedby': string;
  readonly onBlur: () => void;
  readonly onInput: (event: { currentTarget: { value: string } }) => void;
}

/**
 * A new password, typed or generated. A generated one is visible until the form is closed: nobody can read it again.
 */
export function PasswordInput(props: PasswordInputProps) {
  const [isGenerated, setGenerated] = useState(false);
  return (
    <div class="entry">
      {isGenerated ? (
        <input {...props} class="grow" type="text" autocomplete="off" />
      ) : (
        <input {...props} class="grow" type="password" autocomplete="new-password" />
      )}
      <button
        type="button"
        class="small"
        onClick={() => {
          setGenerated(true);
          props.onInput({ currentTarget: { value: generated() } });
        }}
      >
        Generate
      </button>
    </div>
  );
}

function generated(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(GENERATED_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}
