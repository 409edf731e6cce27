/** Discovery documents as pure functions of what is served. */
export { AGGREGATED_PARAMETERS, apiGroup, apiGroupDiscoveryList, apiGroupList, apiResourceList, apiVersions, entityTag } from './documents.ts'
export {
  builtinVersions,
  CUSTOM_GROUP_PRIORITY,
  CUSTOM_VERSION_PRIORITY,
  compareVersions,
  orderGroups,
  type ServedGroup,
  type ServedResource,
  type ServedSubresource,
  type ServedVersion,
} from './served.ts'
