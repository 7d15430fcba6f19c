import { useEffect, useRef, useState } from 'preact/hooks';
import { type PendingChange, pendingChange, refreshPendingChange } from '../api/pending-change.ts';
import { request } from '../api/request.ts';
import { isAllowed } from '../api/scopes.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { toast } from '../components/toast.tsx';
import { countdownText } from '../format/times.ts';
import { href } from '../router/location.ts';
import { loadPageAgain } from './page-round.ts';

const LOOK_EVERY_MS = 10_000;
const LOOK_AT_THE_END_MS = 2_000;

/** On every page and for everybody: a change that the server reverts by itself unless somebody confirms it in time. */
export function PendingBanner() {
  const pending = pendingChange.value;
  const shown = useRef<PendingChange | null>(null);
  const isOver = useCountdown(pending) <= 0;
  useEffect(() => {
    void refreshPendingChange();
    const timer = setInterval(
      () => {
        if (!document.hidden) void refreshPendingChange();
      },
      pending !== null && isOver ? LOOK_AT_THE_END_MS : LOOK_EVERY_MS,
    );
    return () => clearInterval(timer);
  }, [pending?.revision, isOver]);
  useEffect(() => {
    const former = shown.current;
    shown.current = pending;
    // The page may have a form open, so it is not loaded again without being asked.
    if (former !== null && pending === null) {
      toast(`Change ${former.revision} no longer waits. Reload the page to see what is in effect.`);
    }
  }, [pending]);
  if (pending === null) return null;
  const { revision, endsAtMs } = pending;
  const settled = (): void => {
    shown.current = null;
    pendingChange.value = null;
    loadPageAgain();
  };
  return (
    <section class="notice warn pending-banner" aria-label="Change that waits">
      <span>
        <a href={href(`/changes/${revision}`)}>Change {revision}</a> waits for a confirmation.{' '}
        {isOver ? 'Its time is over: the server reverts it.' : 'The server reverts it in '}
        {!isOver && <strong class="number">{countdownText(endsAtMs - Date.now())}</strong>}
      </span>
      {isAllowed('changes:write') && !isOver && (
        <span class="line">
          <ConfirmButton
            name="Confirm"
            isSmall
            isDanger={false}
            question={`Keep change ${revision}?`}
            done="The change is confirmed."
            act={() => request('POST', `/changes/${revision}/confirm`)}
            onDone={settled}
          >
            <p>It stays in effect. It can still be undone later.</p>
          </ConfirmButton>
          <ConfirmButton
            name="Revert"
            isSmall
            question={`Revert change ${revision} now?`}
            done="The change is reverted."
            act={() => request('POST', `/changes/${revision}/revert`, { body: {} })}
            onDone={settled}
          >
            <p>Every document goes back to what it was before the change.</p>
          </ConfirmButton>
        </span>
      )}
    </section>
  );
}

/** What is left, in milliseconds; renders once a second while something waits. */
function useCountdown(pending: PendingChange | null): number {
  const [, setNow] = useState(0);
  useEffect(() => {
    if (pending === null) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [pending]);
  return pending === null ? 0 : pending.endsAtMs - Date.now();
}
