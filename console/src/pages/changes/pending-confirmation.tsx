import { request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Time } from '../../components/time.tsx';
import type { Change } from './change-record.ts';

/** A change that the server reverts by itself unless somebody confirms it in time. */
export function PendingConfirmation({ changes, onChange }: { changes: readonly Change[]; onChange: () => void }) {
  const pending = changes.find(
    ({ confirm_by }) => typeof confirm_by === 'string' && Date.parse(confirm_by) > Date.now(),
  );
  if (pending === undefined) return null;
  return (
    <Notice tone="warn">
      <div class="line">
        <span>
          Change {pending.revision} waits for a confirmation. The server reverts it <Time at={pending.confirm_by} />.
        </span>
        {isAllowed('changes:write') && (
          <ConfirmButton
            name="Confirm"
            isDanger={false}
            question={`Keep change ${pending.revision}?`}
            done="The change is confirmed."
            act={() => request('POST', `/changes/${pending.revision}/confirm`)}
            onDone={onChange}
          >
            <p>It stays in effect. It can still be undone later.</p>
          </ConfirmButton>
        )}
      </div>
    </Notice>
  );
}
