import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Diff } from '../../components/diff.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { href } from '../../router/location.ts';
import type { PageProps } from '../page-props.ts';
import { AuthorName } from './author-name.tsx';
import { type Change, type ChangedObject, isDeletedAccount, objectName, objectText } from './change-record.ts';
import { UndoButton } from './undo-button.tsx';

export function ChangePage({ params }: PageProps) {
  const revision = params['revision'] ?? '';
  const path = `/changes/${encodeURIComponent(revision)}`;
  const loaded = useLoaded(path, (abort) => get<Change>(path, abort));
  return (
    <>
      <PageHead title={`Change ${revision}`} crumbs={[['Changes', '/changes']]}>
        {isAllowed('changes:write') && loaded.data !== null && !loaded.data.cannot_undo && (
          <UndoButton revision={revision} />
        )}
      </PageHead>
      <LoadedView loaded={loaded} what="This change">
        {(change) => (
          <>
            {change.cannot_undo && (
              <Notice>
                <span>
                  {`${change.cannot_undo.replace(/^r/, 'R')}. `}
                  {change.objects?.some(isDeletedAccount) && (
                    <a href={href('/people?tab=user_accounts')}>Invite them on the page People.</a>
                  )}
                </span>
              </Notice>
            )}
            <section class="card" aria-label="Change">
              <div class="body">
                <Facts
                  rows={[
                    ['Who', <AuthorName key="who" author={change.author} />],
                    ['When', <Time key="at" at={change.at} />],
                    ['Via', change.author.via],
                    ['Message', change.message === '' ? '–' : change.message],
                    ['Documents', String(change.count)],
                  ]}
                />
              </div>
            </section>
            {(change.objects ?? []).map((object) => (
              <ChangedDocument key={`${object.kind} ${object.module ?? ''} ${object.id}`} object={object} />
            ))}
          </>
        )}
      </LoadedView>
    </>
  );
}

function ChangedDocument({ object }: { object: ChangedObject }) {
  const name = objectName(object);
  return (
    <section class="stack-small" aria-label={objectText(object)}>
      <div class="line">
        <h2>{objectText(object)}</h2>
        {name !== object.id && (
          <span class="one-line" dir="auto">
            {name}
          </span>
        )}
        <code class="wrap-anywhere">{object.id}</code>
      </div>
      {object.changed_secrets.length > 0 && (
        <p class="muted">Changed secrets: {object.changed_secrets.join(', ')}. Their values are not kept here.</p>
      )}
      <Diff label={`Difference of ${object.id}`} before={object.before} after={object.after} />
    </section>
  );
}
