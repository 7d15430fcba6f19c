import { useEffect, useRef } from 'preact/hooks';
import { followServer, goneSince } from '../api/server-presence.ts';
import { toast } from '../components/toast.tsx';
import { clockTime } from '../format/times.ts';
import { loadPageAgain } from './page-round.ts';

/** On every page: nothing that is shown may look current while the server does not answer. */
export function ServerBanner() {
  const wasGone = useRef(false);
  const since = goneSince.value;
  useEffect(() => followServer(), []);
  useEffect(() => {
    const isBack = wasGone.current && since === null;
    wasGone.current = since !== null;
    if (!isBack) return;
    toast('The server answers again.');
    // What somebody typed would be lost, also while it is reviewed, and a link that is shown once.
    if (document.querySelector('dialog[open], main form, main .form-page, main .secret-once') === null) loadPageAgain();
  }, [since]);
  if (since === null) return null;
  return (
    <section class="notice danger server-banner" role="alert" aria-label="Server">
      The server has not answered since {clockTime(new Date(since).toISOString())}. What this page shows is from before,
      and nothing can be saved. This page tries again every second.
    </section>
  );
}
