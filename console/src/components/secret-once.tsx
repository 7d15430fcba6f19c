import { CopyBox } from './copy-box.tsx';
import { Dialog } from './dialog.tsx';
import type { ShownOnce } from './shown-once.tsx';

/** A secret that the API shows once. Closing removes it from the DOM and from memory. */
export function SecretOnce({ title, shown, onClose }: { title: string; shown: ShownOnce; onClose: () => void }) {
  const { secret, explanation } = shown;
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
      <CopyBox text={secret} />
    </Dialog>
  );
}
