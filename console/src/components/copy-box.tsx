import { useState } from 'preact/hooks';

/** Text to take away, such as a secret or a link. */
export function CopyBox({ text }: { text: string }) {
  const [copied, setCopied] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied('Copied.');
    } catch {
      setCopied('The browser does not allow copying here: select the text and copy it.');
    }
  };
  return (
    <>
      <div class="secret-once">
        <code>{text}</code>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p role="status" class="hint">
        {copied}
      </p>
    </>
  );
}
