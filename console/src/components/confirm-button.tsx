import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ActionDialog } from './action-dialog.tsx';
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
  const { name, label, confirmName = name, question, children, isDanger = true, isSmall = false } = props;
  const { done, act, offersTrial, onDone } = props;
  const [isOpen, setOpen] = useState(false);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
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
        <ActionDialog
          title={question}
          name={confirmName}
          isDanger={isDanger}
          onClose={() => setOpen(false)}
          act={async () => {
            await act(confirmWithin);
            setOpen(false);
            toast(done);
            onDone?.();
          }}
        >
          {children}
          {offersTrial === true && <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />}
        </ActionDialog>
      )}
    </>
  );
}
