import type { PodTemplate } from '../../../api/core/v1/types.generated.ts'
import { type ErrorList, FieldPath } from '../../../apimachinery/field.ts'
import type { KindRegistration, StrategyContext, TableColumns } from '../../../apiserver/registry/strategy.ts'
import { column, containerTexts, labelsText } from '../../columns.ts'
import { dropDisabledTemplateFields, templateOptions } from '../../workload-template.ts'
import { setPodTemplateDefaults } from '../pod/defaults.ts'
import { validatePodTemplateSpec } from '../pod/validation/pod.ts'
import { templateWarnings } from '../pod/warnings.ts'

const TEMPLATE = FieldPath.root('template')

const validate = ({ template }: PodTemplate, context: StrategyContext): ErrorList => validatePodTemplateSpec(template, TEMPLATE, templateOptions(context))

const columns: TableColumns<PodTemplate> = {
  columns: [
    column('Name', { format: 'name', description: 'Name of the PodTemplate.' }),
    column('Containers', { description: 'Names of the containers of the template.' }),
    column('Images', { description: 'Images of the containers of the template.' }),
    column('Pod Labels', { description: 'Labels of the template.' }),
  ],
  cells: ({ metadata, template }) => [metadata.name ?? '', ...containerTexts(template.spec), labelsText(template.metadata?.labels)],
}

export const podTemplateKind: KindRegistration<PodTemplate> = {
  group: '',
  resource: 'podtemplates',
  storage: { group: '', version: 'v1', kind: 'PodTemplate' },
  strategy: {
    returnDeletedObject: true,
    defaults: ({ template }) => setPodTemplateDefaults(template),
    prepareForCreate: ({ template }, context) => dropDisabledTemplateFields(template, undefined, context),
    validate,
    warningsOnCreate: ({ template }) => templateWarnings(template, undefined, TEMPLATE),
    prepareForUpdate: ({ template }, old, context) => dropDisabledTemplateFields(template, old.template, context),
    validateUpdate: (podTemplate, _old, context) => validate(podTemplate, context),
    warningsOnUpdate: ({ template }, old) => templateWarnings(template, old.template, TEMPLATE),
  },
  columns,
}
