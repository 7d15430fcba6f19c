import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chip } from '../../components/chip.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';

interface ConsoleSession {
  readonly id: string;
  readonly who: { readonly name: string; readonly kind: string };
  readonly role?: string | null;
  readonly created_at: string;
  readonly last_active_at?: string;
  readonly expires_at: string;
  readonly address?: string;
  readonly is_current?: boolean;
}

export function SessionsPage() {
  const loaded = useLoaded('sessions', (abort) =>
    get<{ sessions: readonly ConsoleSession[] }>('/console/sessions', abort),
  );
  return (
    <>
      <PageHead
        title="Console sessions"
        hint="Who is signed in to this console. A session ends with its key as well."
      />
      <LoadedView loaded={loaded} what="The list of console sessions">
        {({ sessions }) => (
          <DataTable
            label="Console sessions"
            rows={sessions}
            rowKey={({ id }) => id}
            columns={[
              {
                name: 'Who',
                class: 'col-wide',
                cell: ({ who, is_current }) => (
                  <span class="line">
                    <span class="one-line" dir="auto">
                      {who.name}
                    </span>
                    {is_current === true && <Chip tone="accent">this one</Chip>}
                  </span>
                ),
              },
              { name: 'Role', class: 'middle', cell: ({ who, role }) => role ?? who.kind },
              { name: 'From', class: 'low', cell: ({ address }) => address ?? '' },
              { name: 'Since', class: 'middle col-time', cell: ({ created_at }) => <Time at={created_at} /> },
              { name: 'Expires', class: 'col-time', cell: ({ expires_at }) => <Time at={expires_at} /> },
              ...(!isAllowed('console:write')
                ? []
                : [
                    {
                      name: 'Action',
                      class: 'col-narrow',
                      cell: ({ id, who }: ConsoleSession) => (
                        <ConfirmButton
                          name="Revoke"
                          label={`Revoke the session of ${who.name.slice(0, 80)}`}
                          isSmall
                          question={`End the session of ${who.name.slice(0, 80)}?`}
                          done="The session is revoked."
                          act={() => request('DELETE', `/console/sessions/${encodeURIComponent(id)}`)}
                          onDone={loaded.reload}
                        >
                          <p>Their page asks them to sign in again.</p>
                        </ConfirmButton>
                      ),
                    },
                  ]),
            ]}
          />
        )}
      </LoadedView>
    </>
  );
}
