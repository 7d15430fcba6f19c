import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ResourceList } from '../../components/resource-list.tsx';
import { resourceType } from '../../schema/resource-types.ts';
import { capital } from '../../shell/navigation.ts';
import type { PageProps } from '../page-props.ts';

/** Any list of the API that has no page of its own. */
export function ResourcesPage({ params }: PageProps) {
  const type = resourceType(params['tag'] ?? '');
  if (type === undefined) return <NotAvailable what="This list" />;
  return (
    <>
      <PageHead title={capital(type.plural)} hint={type.description} />
      <ResourceList
        type={type}
        purpose={
          type.create === null
            ? 'They appear here by themselves when there are any.'
            : 'The first one that you create appears here.'
        }
      />
    </>
  );
}
