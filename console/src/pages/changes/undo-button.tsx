import { useState } from 'preact/hooks';
import { request } from '../../api/request.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { toast } from '../../components/toast.tsx';
import { navigate } from '../../router/location.ts';

interface Undone {
  readonly revision: number;
  readonly skipped: readonly { readonly kind: string; readonly id: string }[];
}

/** `onUndone`: absent, the page of the new change is shown. */
export function UndoButton({ revision, onUndone }: { revision: string; onUndone?: () => void }) {
  const [isForced, setForced] = useState(false);
  const [message, setMessage] = useState('');
  const undo = async (): Promise<void> => {
    const body = { ...(isForced && { force: true }), ...(message !== '' && { message }) };
    const { data } = await request<Undone>('POST', `/changes/${encodeURIComponent(revision)}/undo`, { body });
    for (const { kind, id } of data.skipped) toast(`${kind.replaceAll('_', ' ')} ${id} does not come back.`, 'warn');
    if (onUndone === undefined) navigate(`/changes/${data.revision}`);
    else onUndone();
  };
  return (
    <ConfirmButton
      name="Undo"
      confirmName="Undo the change"
      question={`Undo change ${revision}?`}
      done={`Change ${revision} is undone.`}
      act={undo}
    >
      <p>
        Every document goes back to what it was before. This is a change of its own, which can be undone too. Deleted
        keys, credentials, tokens and guest links do not come back.
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
    </ConfirmButton>
  );
}
