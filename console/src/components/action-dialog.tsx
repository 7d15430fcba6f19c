import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/api-error.ts';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './notice.tsx';

interface ActionDialogProps {
  readonly title: string;
  /** Name of the button that acts. */
  readonly name: string;
  readonly isDanger?: boolean;
  /** What follows from it; also fields that it needs. */
  readonly children?: ComponentChildren;
  /** The dialog shows why it failed, and stays open. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** A question with one act: busy while it runs, and the reason if it fails. */
export function ActionDialog({ title, name, isDanger = false, children, act, onClose }: ActionDialogProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const run = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (failure) {
      setError(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class={isDanger ? 'danger' : 'primary'} disabled={isBusy} onClick={() => void run()}>
            {name}
          </button>
        </>
      }
    >
      {children}
      {error !== null && <ErrorNotice error={error} />}
    </Dialog>
  );
}
