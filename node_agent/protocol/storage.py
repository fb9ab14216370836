"""What the portal writes into its folders of volumes for the nodes that see them."""

# By whose content a node knows that it sees a folder of the portal's volumes; in that folder.
STORAGE_MARK = ".weir-storage"
# How large a volume is, in MiB as a decimal number; beside its files, where work does not come.
VOLUME_SIZE = "size"
