# filled by the install rules of each folder
