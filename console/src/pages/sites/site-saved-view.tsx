import { useEffect } from 'preact/hooks';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { isAllowed } from '../../api/scopes.ts';
import { CopyBox } from '../../components/copy-box.tsx';
import { UndoAtOnceButton } from '../changes/undo-button.tsx';
import { Invitations } from '../publish/invitations.tsx';

export interface SiteSaved {
  readonly revision: number;
  readonly sentences: readonly string[];
  /** Shown only once; null: none was made. */
  readonly guestUrl: string | null;
  /** Who may enter from now on; null: that did not change. */
  readonly people: WantedEdge | null;
}

/** What was changed, what is left to do, and the way back. */
export function SiteSavedView({ saved, onUndone }: { saved: SiteSaved; onUndone: () => void }) {
  const { revision, sentences, guestUrl, people } = saved;
  // The form that was here was longer: what it did is at the top.
  useEffect(() => scrollTo(0, 0), [revision]);
  const isOwn = people !== null && people.login !== null && people.login.clientId === '';
  return (
    <section class="notice ok" aria-label="Saved">
      <div class="stack-small grow">
        <strong role="status">Saved. {sentences.join(' ')}</strong>
        {guestUrl !== null && (
          <>
            <p>Send this link to your guest. It is not shown again.</p>
            <CopyBox text={guestUrl} />
          </>
        )}
        {isOwn && <Invitations wanted={people} />}
        {isAllowed('changes:write') && (
          <div class="line">
            <UndoAtOnceButton revision={revision} onUndone={onUndone} />
          </div>
        )}
      </div>
    </section>
  );
}
