import { useState } from 'preact/hooks';
import { asApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { toast } from '../../components/toast.tsx';
import { navigate } from '../../router/location.ts';

interface Undone {
  readonly revision: number;
  readonly skipped: readonly { readonly kind: string; readonly id: string }[];
}

/** For the change that somebody has just made here: nothing has come after it, and undoing it can be undone too. */
export function UndoAtOnceButton({ revision, onUndone }: { revision: number; onUndone: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const undo = async (): Promise<void> => {
    setBusy(true);
    try {
      await undoChange(String(revision), {});
      toast('The change is undone.');
      onUndone();
    } catch (error) {
      toast(asApiError(error).message, 'danger');
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" disabled={isBusy} onClick={() => void undo()}>
      Undo
    </button>
  );
}

async function undoChange(revision: string, body: object): Promise<Undone> {
  const { data } = await request<Undone>('POST', `/changes/${encodeURIComponent(revision)}/undo`, { body });
  for (const { kind, id } of data.skipped) toast(`${kind.replaceAll('_', ' ')} ${id} does not come back.`, 'warn');
  return data;
}

/** Shows the page of the new change then. */
export function UndoButton({ revision }: { revision: string }) {
  const [isForced, setForced] = useState(false);
  const [message, setMessage] = useState('');
  const undo = async (): Promise<void> => {
    const body = { ...(isForced && { force: true }), ...(message !== '' && { message }) };
    navigate(`/changes/${(await undoChange(revision, body)).revision}`);
  };
  return (
    <ConfirmButton
      name="Undo"
      confirmName="Undo the change"
      question="Undo this change?"
      done="The change is undone."
      act={undo}
    >
      <p>
        Everything in change {revision} goes back to what it was before. You can undo that too. Deleted keys,
        credentials, tokens and guest links do not come back.
      </p>
      <details>
        <summary>More</summary>
        <div class="field">
          <label for="undo-message">Message for the history</label>
          <input
            id="undo-message"
            maxLength={1024}
            value={message}
            onInput={(event) => setMessage(event.currentTarget.value)}
          />
        </div>
        <div class="check">
          <input
            id="undo-force"
            type="checkbox"
            checked={isForced}
            onChange={(event) => setForced(event.currentTarget.checked)}
          />
          <label for="undo-force">Also restore what somebody changed again later</label>
        </div>
      </details>
    </ConfirmButton>
  );
}
