import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../api/api-error.ts';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './notice.tsx';
import { toast } from './toast.tsx';
import { TrialChoice } from './trial-choice.tsx';

interface ConfirmButtonProps {
  readonly name: string;
  /** What the button says to a screen reader, where several have the same name. */
  readonly label?: string;
  /** Name of the button in the dialog; absent: the same. */
  readonly confirmName?: string;
  readonly question: string;
  readonly children?: ComponentChildren;
  readonly isDanger?: boolean;
  readonly isSmall?: boolean;
  readonly done: string;
  /** `confirmWithin`: see `write`. Null unless a trial is offered and chosen. */
  readonly act: (confirmWithin: string | null) => Promise<unknown>;
  readonly offersTrial?: boolean;
  readonly onDone?: () => void;
}

/** An act that interrupts somebody or removes something: it names its consequence before. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const {
    name,
    label,
    confirmName = name,
    question,
    children,
    isDanger = true,
    isSmall = false,
    done,
    act,
    offersTrial,
    onDone,
  } = props;
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
  const close = (): void => {
    setOpen(false);
    setError(null);
  };
  const run = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await act(confirmWithin);
      close();
      toast(done);
      onDone?.();
    } catch (failure) {
      setError(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class={`${isDanger ? 'danger' : ''} ${isSmall ? 'small' : ''}`}
        {...(label !== undefined && { 'aria-label': label })}
        onClick={() => setOpen(true)}
      >
        {name}
      </button>
      {isOpen && (
        <Dialog
          title={question}
          onClose={close}
          foot={
            <>
              <button type="button" onClick={close}>
                Cancel
              </button>
              <button
                type="button"
                class={isDanger ? 'danger' : 'primary'}
                disabled={isBusy}
                onClick={() => void run()}
              >
                {confirmName}
              </button>
            </>
          }
        >
          {children}
          {offersTrial === true && <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />}
          {error !== null && <ErrorNotice error={error} />}
        </Dialog>
      )}
    </>
  );
}
