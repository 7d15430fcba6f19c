import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

/** A secret that the API shows once. Closing removes it from the DOM and from memory. */
export function SecretOnce({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
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
          I have stored it
        </button>
      }
    >
      <p>Store it now. The server keeps only a hash of it, so it is not shown again.</p>
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
