import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { TabbedLists } from '../../components/tabbed-lists.tsx';
import { query } from '../../router/location.ts';
import { isBackend, type ResourceType, resourceTypes } from '../../schema/resource-types.ts';
import { capital } from '../../shell/navigation.ts';

/** One tab per kind of backend that the server knows; without a choice, the one that has most. */
export function BackendsPage() {
  const kinds = resourceTypes.value.filter(isBackend);
  const isChosen = query.value.has('tab');
  const loaded = useLoaded(`fullest backends ${isChosen}`, (abort) =>
    isChosen ? Promise.resolve(kinds) : fullestFirst(kinds, abort),
  );
  return (
    <>
      <PageHead title="Backends" hint="Where routes forward their requests." />
      <LoadedView loaded={loaded} what="The list of backends">
        {(sorted) => (
          <TabbedLists
            label="Kinds of backends"
            first={sorted[0]?.tag}
            tabs={kinds.map(({ tag, title }) => ({ tag, name: capital(title.replace(/ backend$/, '')) }))}
          />
        )}
      </LoadedView>
    </>
  );
}

async function fullestFirst(kinds: readonly ResourceType[], abort: AbortSignal): Promise<readonly ResourceType[]> {
  const counts = await Promise.all(
    kinds.map(async ({ list }) =>
      areAllowed(list.scopes) ? ((await request('GET', `${list.path}?limit=1`, { abort })).count ?? 0) : 0,
    ),
  );
  const countOf = new Map(kinds.map(({ tag }, at) => [tag, counts[at] ?? 0]));
  return kinds.toSorted((one, other) => (countOf.get(other.tag) ?? 0) - (countOf.get(one.tag) ?? 0));
}
