import { PageHead } from '../../components/page-head.tsx';
import { TabbedLists } from '../../components/tabbed-lists.tsx';
import { isBackend, resourceTypes } from '../../schema/resource-types.ts';
import { capital } from '../../shell/navigation.ts';

/** One tab per kind of backend that the server knows. */
export function BackendsPage() {
  const kinds = resourceTypes.value.filter(isBackend);
  return (
    <>
      <PageHead title="Backends" hint="Where routes forward their requests." />
      <TabbedLists
        label="Kinds of backends"
        tabs={kinds.map(({ tag, title }) => ({ tag, name: capital(title.replace(/ backend$/, '')) }))}
      />
    </>
  );
}
