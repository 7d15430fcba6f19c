import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { Dialog } from '../dialog.tsx';
import { Diff } from '../diff.tsx';
import { IsNew } from '../form/is-new.ts';
import { type FormValue, SchemaForm } from '../form/schema-form.tsx';
import { ErrorNotice } from '../notice.tsx';
import { Sentences } from '../sentences.tsx';
import { toast } from '../toast.tsx';
import { TrialChoice } from '../trial-choice.tsx';
import { ConflictView } from './conflict-view.tsx';
import { hideSecrets } from './hide-secrets.ts';
import { type Edited, loadCurrent, rebased, type Saved, save } from './save.ts';

interface EditDialogProps {
  readonly title: string;
  readonly edited: Edited;
  readonly initial?: FormValue;
  readonly without?: readonly string[];
  /** Beside the form, for what is being typed: such as a rehearsal of access rules. */
  readonly preview?: (value: FormValue) => ComponentChildren;
  /** What will happen, for the review. Absent: it shows the lines that change. */
  readonly sentences?: ((value: FormValue) => readonly string[]) | undefined;
  readonly onClose: () => void;
  readonly onSaved: (saved: Saved) => void;
}

type Theirs = Awaited<ReturnType<typeof loadCurrent>>;

/**
 * Form, then the difference or what it means, then the write with If-Match; a version of somebody else's is shown
 * beside one's own.
 */
export function EditDialog(props: EditDialogProps) {
  const { title, initial, without, preview, sentences, onClose, onSaved } = props;
  const [edited, setEdited] = useState(props.edited);
  const [value, setValue] = useState<FormValue>(initial ?? props.edited.original ?? {});
  const [step, setStep] = useState<'form' | 'review'>('form');
  const [error, setError] = useState<ApiError | null>(null);
  const [theirs, setTheirs] = useState<Theirs | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [confirmWithin, setConfirmWithin] = useState<string | null>(null);
  useEffect(() => {
    const field = error?.details['field'];
    if (step !== 'form' || field === undefined) return;
    // Inputs have the JSON pointer of their field as id, which is what the API names.
    const input = document.getElementById(field);
    input?.setAttribute('aria-invalid', 'true');
    input?.focus();
  }, [error, step]);
  const isUnchanged = edited.original !== null && JSON.stringify(edited.original) === JSON.stringify(value);
  const write = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const saved = await save(edited, value, confirmWithin);
      for (const warning of saved.warnings) toast(warning, 'warn');
      onSaved(saved);
    } catch (failure) {
      const refusal = asApiError(failure);
      if (refusal.isConflict) setTheirs(await loadCurrent(edited).catch(() => null));
      setError(refusal);
      if (!refusal.isConflict) setStep('form');
    } finally {
      setBusy(false);
    }
  };
  const takeOver = (next: FormValue, version: Theirs): void => {
    setEdited({ ...edited, original: version.value, etag: version.etag });
    setValue(next);
    setTheirs(null);
    setError(null);
    setStep('form');
  };
  if (theirs !== null) {
    return (
      <ConflictView
        title={title}
        original={hideSecrets(edited.original, edited.body)}
        mine={hideSecrets(value, edited.body, edited.original)}
        theirs={hideSecrets(theirs.value, edited.body)}
        onMine={() => takeOver(rebased(edited, value, theirs.value), theirs)}
        onTheirs={() => takeOver(theirs.value, theirs)}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      foot={
        step === 'form' ? (
          <>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" form="edit-form" class="primary" disabled={isUnchanged}>
              Review changes
            </button>
          </>
        ) : (
          <>
            <button type="button" onClick={() => setStep('form')}>
              Back
            </button>
            <button type="button" class="primary" disabled={isBusy} onClick={() => void write()}>
              Save
            </button>
          </>
        )
      }
    >
      {error !== null && <ErrorNotice error={error} />}
      {step === 'form' ? (
        <form
          id="edit-form"
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            setStep('review');
          }}
        >
          <IsNew.Provider value={edited.original === null}>
            <SchemaForm schema={edited.body} value={value} onChange={setValue} without={without ?? []} />
          </IsNew.Provider>
          {preview?.(value)}
        </form>
      ) : (
        <>
          {sentences === undefined ? (
            <>
              <p>These lines will change:</p>
              <Diff
                label="Changes"
                before={hideSecrets(edited.original, edited.body)}
                after={hideSecrets(value, edited.body, edited.original)}
              />
            </>
          ) : (
            <Sentences all={sentences(value)} />
          )}
          <TrialChoice value={confirmWithin} onChange={setConfirmWithin} />
        </>
      )}
    </Dialog>
  );
}
