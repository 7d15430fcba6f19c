import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { toast } from '../../components/toast.tsx';
import { navigate } from '../../router/location.ts';

interface Undone {
  readonly revision: number;
  readonly skipped: readonly { readonly kind: string; readonly id: string }[];
}

export function UndoButton({ revision }: { revision: string }) {
  const [isOpen, setOpen] = useState(false);
  const [isForced, setForced] = useState(false);
  const [message, setMessage] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const undo = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const body = { ...(isForced && { force: true }), ...(message !== '' && { message }) };
      const { data } = await request<Undone>('POST', `/changes/${encodeURIComponent(revision)}/undo`, { body });
      setOpen(false);
      toast(`Change ${revision} is undone.`);
      for (const { kind, id } of data.skipped) toast(`${kind.replaceAll('_', ' ')} ${id} does not come back.`, 'warn');
      navigate(`/changes/${data.revision}`);
    } catch (failure) {
      setError(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => setOpen(true)}>
        Undo
      </button>
      {isOpen && (
        <Dialog
          title={`Undo change ${revision}?`}
          onClose={() => setOpen(false)}
          foot={
            <>
              <button type="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
              <button type="button" class="danger" disabled={isBusy} onClick={() => void undo()}>
                Undo the change
              </button>
            </>
          }
        >
          <p>
            Every document goes back to what it was before. This is a change of its own, which can be undone too.
            Deleted keys, credentials, tokens and guest links do not come back.
          </p>
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
            <label for="undo-force">Also restore documents that were changed again later</label>
          </div>
          {error !== null && <ErrorNotice error={error} />}
        </Dialog>
      )}
    </>
  );
}
