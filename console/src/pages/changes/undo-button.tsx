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
