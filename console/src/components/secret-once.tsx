import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import type { ShownOnce } from './shown-once.tsx';

/** A secret that the API shows once. Closing removes it from the DOM and from memory. */
export function SecretOnce({ title, shown, onClose }: { title: string; shown: ShownOnce; onClose: () => void }) {
  const { secret, explanation } = shown;
  const [copied, setCopied] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(secret);
      setCopied('Copied.');
    } catch {
      setCopied('The browser does not allow copying here: select the text and copy it.');
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <button type="button" class="primary" onClick={onClose}>
          {shown.done ?? 'I have stored it'}
        </button>
      }
    >
      {explanation}
      <div class="secret-once">
        <code>{secret}</code>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p role="status" class="hint">
        {copied}
      </p>
    </Dialog>
  );
}
